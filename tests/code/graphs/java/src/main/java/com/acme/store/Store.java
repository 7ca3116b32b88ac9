package com.acme.store;
public class Store { public void save(String x) { write(x); } private void write(String x) {} }
