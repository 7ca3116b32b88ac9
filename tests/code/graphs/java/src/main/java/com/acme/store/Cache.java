package com.acme.store;
public class Cache { public void put(String x) { } }
