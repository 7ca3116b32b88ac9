using System;
using System.Collections;
using System.Collections.Generic;
using System.Linq;
using System.Threading.Tasks;
using Acme.Mail.Rules;

namespace Acme.Mail;

public partial class Inbox : IEnumerable<Message>, IDisposable
{
    private readonly SortedSet<Message> messages = new();
    private readonly IRule[] rules;
    private bool disposed;

    public Inbox(params IRule[] rules)
    {
        this.rules = rules.OrderBy(OrderOf).ToArray();
    }

    ~Inbox() => Dispose(false);

    public Message this[int index] => messages.ElementAt(index);

    public int Count { get { return messages.Count; } }

    public async Task<int> ReceiveAsync(Message message)
    {
        var applied = 0;
        foreach (var rule in rules)
        {
            if (await rule.ApplyAsync(message))
            {
                applied++;
            }
        }
        messages.Add(message);
        return applied;
    }

    public IEnumerator<Message> GetEnumerator()
    {
        foreach (var message in messages)
        {
            yield return message;
        }
    }

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

    public void Dispose()
    {
        Dispose(true);
        GC.SuppressFinalize(this);
    }

    protected virtual void Dispose(bool disposing)
    {
        if (!disposed && disposing)
        {
            messages.Clear();
        }
        disposed = true;
    }

    private static int OrderOf(IRule rule) => rule is IOrdered<int> ordered ? ordered.Order : int.MaxValue;
}
