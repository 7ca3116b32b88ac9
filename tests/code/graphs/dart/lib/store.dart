class Base { void prepare() {} }
mixin Logs { void logged() {} }
class Store { void saveAll() { check(); } void check() {} }
