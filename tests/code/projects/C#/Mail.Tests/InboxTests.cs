using System.Threading.Tasks;
using Acme.Mail.Rules;
using Xunit;

namespace Acme.Mail.Tests;

public class InboxTests
{
    private static Message Made(string subject) => new() { From = Address.Parse("Ann <ann@example.org>"), Subject = subject };

    [Fact]
    public async Task AppliesRules()
    {
        using var inbox = new Inbox(new UrgentRule(), new LabelRule("all", _ => true));
        Assert.Equal(2, await inbox.ReceiveAsync(Made("urgent: lunch")));
    }

    [Theory]
    [InlineData("a@b", "a@b")]
    [InlineData("Ann <a@b>", "a@b")]
    public void ParsesAddresses(string text, string mailbox)
    {
        Assert.Equal(mailbox, Address.Parse(text).Mailbox);
    }
}
