package com.acme.app;
class MainTest { @Test void runs() { new Main().run(); } }
