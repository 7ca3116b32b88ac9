<?php
require_once __DIR__ . '/functions.php';
include 'config.php';

class Legacy_Mailer
{
    var $to;
    static $instances = array();

    function Legacy_Mailer($to)
    {
        $this->to = $to;
        Legacy_Mailer::$instances[] = &$this;
    }

    static function instance()
    {
        return end(self::$instances);
    }

    function send($subject, $body = '')
    {
        return mail($this->to, $subject, $body);
    }
}

function legacy_send($subject)
{
    if (!class_exists('Legacy_Mailer')) {
        class Legacy_Fallback
        {
            function send() {}
        }
    }
    $mailer = new Legacy_Mailer('shop@example.org');
    return $mailer->send($subject);
}
