using System;
using System.Threading;
using System.Threading.Tasks;
using static Acme.Mail.Urgency;

namespace Acme.Mail.Rules
{
    /// <summary>A rule with a condition.</summary>
    public abstract class Rule : IRule, IOrdered<int>
    {
        protected const int First = 0;
        private readonly Condition condition;

        protected Rule(string name, Condition condition)
        {
            Name = name;
            this.condition = condition;
        }

        public string Name { get; }
        public virtual int Order => First;

        public async ValueTask<bool> ApplyAsync(Message message, CancellationToken token = default)
        {
            if (!condition(message))
            {
                return false;
            }
            token.ThrowIfCancellationRequested();
            await ActAsync(message);
            return true;
        }

        protected abstract Task ActAsync(Message message);
    }

    public class LabelRule : Rule
    {
        private readonly string label;

        public LabelRule(string label, Condition condition) : base($"label {label}", condition) => this.label = label;

        protected override Task ActAsync(Message message)
        {
            message.Label(label);
            return Task.CompletedTask;
        }
    }

    public sealed class UrgentRule : Rule
    {
        public UrgentRule() : base("urgent", IsUrgent) { }

        public override int Order => First + 1;

        protected override Task ActAsync(Message message)
        {
            message.Raise(High);
            return Task.Delay(1);
        }

        private static bool IsUrgent(Message message)
        {
            return Mentions("urgent") || Mentions("asap");

            bool Mentions(string word) => message.Subject.Contains(word, StringComparison.OrdinalIgnoreCase);
        }
    }
}
