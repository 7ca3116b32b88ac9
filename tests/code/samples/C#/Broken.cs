namespace Shop
{
    public class Before
    {
        public int Count() { return 1; }

        public void Torn(int a, )
        {
            if (a > ) {
                Call(;
            }
            int x = ;
        }

        public int After() { return Count(); }
    }

    public interface IOther
    {
        void Run();
    }
}
