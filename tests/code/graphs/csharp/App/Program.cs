using Acme.Store;
namespace Acme.App { class Program : Base { private readonly Repo repo = new Repo(); static void Main() { new Program().Run(); } void Run() { Prepare(); repo.Save(); Texts.Clean(); } } }
