package com.acme.util;
public final class Texts { public static String clean(String s) { return s; } }
