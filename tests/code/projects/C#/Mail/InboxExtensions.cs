using System.Collections.Generic;
using System.Linq;

namespace Acme.Mail;

public static class InboxExtensions
{
    public static IEnumerable<Message> From(this Inbox inbox, string mailbox) =>
        inbox.Where(each => each.From.Mailbox == mailbox);

    public static IDictionary<Urgency, int> Counts(this Inbox inbox)
    {
        return inbox.GroupBy(each => each.Urgency).ToDictionary(group => group.Key, group => group.Count());
    }
}
