package com.acme.app;
abstract class Base { void prepare() { } }
