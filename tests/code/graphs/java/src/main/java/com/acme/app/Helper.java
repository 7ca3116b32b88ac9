package com.acme.app;
class Helper { static void help() {} }
