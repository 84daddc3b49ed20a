#!/usr/bin/env perl
# Says what the fields of a message are called, in Perl on nothing but its core. It writes LF where
# others write CRLF, and raw UTF-8.
use strict;
use utf8;
use warnings;
use JSON::PP;

binmode STDIN;
binmode STDOUT;
$| = 1;
my $json = JSON::PP->new->utf8->canonical;

sub answer {
    my ($body) = $json->encode({ jsonrpc => "2.0", @_ });
    print "content-length: ", length $body, "\n\n", $body;
}

my %values = (F => "female", M => "male", X => "andere – autre");
my $fields = [
    { field => 8, name => "Sex", values => \%values, note => undef },
    { field => 7, name => "Birth", datatype => "date", placeholder => "JJJJMMTT" },
    { field => 5, component => 1, name => "Family name", required => JSON::PP::true },
];

while (defined(my $line = <STDIN>)) {
    next unless $line =~ /^Content-Length:\s*(\d+)/;
    my $length = $1;
    while (defined($line = <STDIN>)) { last if $line =~ /^\r?\n$/ }
    read STDIN, my $body, $length;
    my $message = $json->decode($body);
    my $method = $message->{method} // "";
    if ($method eq "initialize") {
        my $schema = { segments => { PID => { fields => $fields } } };
        my $can = { commands => [], schemaProvider => JSON::PP::true };
        my %me = (name => "Schema", version => "1.0.0", capabilities => $can, schema => $schema);
        answer(id => $message->{id}, result => \%me);
    }
    elsif ($method eq "shutdown") {
        answer(id => $message->{id}, result => {});
        exit 0;
    }
}
