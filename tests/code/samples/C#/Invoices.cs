// Copyright 2024 The authors. Licensed under MIT.
using System;
using System.Collections.Generic;
using static System.Math;
using Money = Shop.Accounting.Amount;
global using Shop.Stock;

namespace Shop.Billing;

/// <summary>What an invoice may be.</summary>
public enum InvoiceState : byte { Draft, Sent = 2, Paid }

public delegate void PaidHandler(Invoice invoice, decimal amount);

/// <summary>
/// Lends invoices by their number.
/// </summary>
public interface IInvoiceStore<in TKey> : IDisposable where TKey : notnull
{
    int Count { get; }
    Invoice? Find(TKey key);
    event PaidHandler? Paid;
}

public record Line(string Text, decimal Price) : IPriced
{
    public decimal Total() => Round(Price, 2);
}

public readonly record struct Number(int Value);

public struct Span
{
    public DateTime From, To;
}

/// <summary>One invoice.</summary>
[Serializable, Table("invoices")]
public abstract partial class Invoice : Document<Line>, IPriced, Base.ITracked<Number>
{
    /// <summary>Most lines.</summary>
    public const int MaxLines = 99;
    private static readonly Dictionary<string, Invoice> cache = new();
    protected readonly List<Line> lines;

    public event EventHandler<Line>? Added;

    /// <summary>What is owed.</summary>
    public Money Owed { get; private set; } = Money.Zero;
    public string Título => Format(lines.Count);

    public Invoice(Number number, params Line[] first) : base(number)
    {
        lines = new List<Line>(first);
        this.Check();
    }

    ~Invoice() { Release(); }

    public Line this[int index] { get { return lines[index]; } }

    /// <summary>Sends it.</summary>
    /// <param name="mailer">Who sends.</param>
    public async Task<TResult> SendAsync<TResult>(
        IMailer mailer,
        CancellationToken token = default)
        where TResult : class, new()
    {
        if (lines.Count > MaxLines) throw new InvoiceException(nameof(lines));
        foreach (var line in lines)
        {
            line.Total();
        }
        var receipt = new Receipt { Number = 1 };
        await mailer.SendAsync<Receipt>(receipt, token);
        Added?.Invoke(this, lines[0]);
        lines.ForEach(Print);
        var texts = lines.Select(each => each.Text.Trim()).Where(IsLong);
        int Doubled(int value) => Twice(value);
        if (mailer is SmtpMailer smtp) smtp.Close();
        State = InvoiceState.Sent;
        Doubled(2);
        return new TResult();
    }

    protected abstract void Print(Line line);

    public static Money operator +(Invoice left, Invoice right) => left.Owed + right.Owed;

    public static implicit operator string(Invoice invoice) => invoice.Título;

    void Base.ITracked<Number>.Track() => Log.Write("tracked");

    private sealed class Cursor : IEnumerator<Line>
    {
        public bool MoveNext() { return false; }
    }
}

public static class InvoiceExtensions
{
    public static bool IsPaid(this Invoice invoice) => invoice.Owed == Money.Zero;
}

public class InvoiceTests
{
    [Fact]
    public void SendsWhatIsOwed() => Assert.Equal(1, new Number(1).Value);

    [Theory]
    [InlineData(1)]
    public async Task Refuses(int count) { await Task.Delay(count); }
}
