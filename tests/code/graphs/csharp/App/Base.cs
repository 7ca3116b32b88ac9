namespace Acme.App { class Base { protected void Prepare() {} } }
