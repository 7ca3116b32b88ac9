package helpers

func Do() {}
