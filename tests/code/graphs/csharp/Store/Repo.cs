namespace Acme.Store { public class Repo { public void Save() { Write(); } void Write() {} } static class Texts { public static void Clean() {} } }
