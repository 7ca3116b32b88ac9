package store

type Store struct { m map[string]string }

func New() *Store { return &Store{} }

func (s *Store) Get(k string) string { return s.lookup(k) }
