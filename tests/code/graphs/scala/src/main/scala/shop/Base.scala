package shop
trait Logs { def logged(): Unit = () }
abstract class Base { def prepare(): Unit = () }
