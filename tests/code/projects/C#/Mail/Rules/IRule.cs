using System.Threading;
using System.Threading.Tasks;

namespace Acme.Mail.Rules
{
    public delegate bool Condition(Message message);

    /// <summary>What is done with messages.</summary>
    public interface IRule
    {
        string Name { get; }
        ValueTask<bool> ApplyAsync(Message message, CancellationToken token = default);
    }

    public interface IOrdered<T> where T : struct
    {
        T Order { get; }
    }
}
