<?php
function good() { return 1; }
function bad( { return ; 
class Fine { public function ok() { return good(); } }
