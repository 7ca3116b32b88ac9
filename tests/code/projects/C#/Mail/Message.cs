using System;
using System.Collections.Generic;

namespace Acme.Mail;

/// <summary>How soon a message is read.</summary>
public enum Urgency { Low, Normal = 1, High }

/// <summary>An address with a name.</summary>
public readonly record struct Address(string Name, string Mailbox)
{
    public static Address Parse(string text)
    {
        var at = text.IndexOf('<');
        return at < 0 ? new Address("", text) : new Address(text[..at].Trim(), text[(at + 1)..^1]);
    }

    public override string ToString() => $"{Name} <{Mailbox}>";
}

/// <summary>One message.</summary>
public sealed class Message : IComparable<Message>
{
    private readonly List<string> labels = new();

    public required Address From { get; init; }
    public string Subject { get; set; } = "";
    public Urgency Urgency { get; private set; }
    public IReadOnlyList<string> Labels => labels;

    public event EventHandler<string>? Labelled;

    public Message Label(string label)
    {
        labels.Add(label);
        Labelled?.Invoke(this, label);
        return this;
    }

    public void Raise(Urgency urgency = Urgency.High) => Urgency = urgency;

    public int CompareTo(Message? other) => other is null ? 1 : Urgency.CompareTo(other.Urgency);

    public static bool operator >(Message left, Message right) => left.CompareTo(right) > 0;
    public static bool operator <(Message left, Message right) => right > left;
}
