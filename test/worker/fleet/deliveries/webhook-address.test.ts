// Tests which webhook addresses are accepted, in all spellings.
import { describe, expect, it } from "vitest";
import { webhookAddress } from "../../../../worker/fleet/deliveries.ts";

describe("a refused address, and the reason", () => {
  it.each([
    ["nothing", "", "not a URL"],
    ["no scheme", "hooks.example.com/x", "not a URL"],
    ["plain text on the wire", "http://hooks.example.com/", "not https"],
    ["another scheme", "ftp://hooks.example.com/", "not https"],
    ["a file", "file:///etc/passwd", "not https"],
    ["a password", "https://a:b@hooks.example.com/", "password"],
    ["a password without a name", "https://:b@hooks.example.com/", "password"],
    ["a name before an address", "https://hooks.example.com@10.0.0.1/", "password"],
    ["loopback", "https://127.0.0.1/", "private"],
    ["loopback in short", "https://127.1/", "private"],
    ["loopback as one number", "https://2130706433/", "private"],
    ["loopback in octal", "https://0177.0.0.1/", "private"],
    ["loopback in hex", "https://0x7f000001/", "private"],
    ["loopback, partly in hex", "https://0x7f.0.0x0.1/", "private"],
    ["loopback in wide digits", "https://１２７.０.０.１/", "private"],
    ["loopback with a dot behind", "https://127.0.0.1./", "private"],
    ["loopback, percent-encoded", "https://%31%32%37.0.0.1/", "private"],
    ["the name of loopback", "https://localhost:8443/", "private"],
    ["a name below it", "https://a.LOCALHOST./", "private"],
    ["loopback of IPv6", "https://[::1]/", "private"],
    ["loopback mapped into IPv6", "https://[::ffff:127.0.0.1]/", "private"],
    ["loopback mapped, in hex", "https://[::ffff:7f00:1]/", "private"],
    ["IPv4-compatible", "https://[::127.0.0.1]/", "private"],
    ["through NAT64", "https://[64:ff9b::7f00:1]/", "private"],
    ["through 6to4", "https://[2002:7f00:1::]/", "private"],
    ["through Teredo", "https://[2001:0:7f00:1::]/", "private"],
    ["unspecified", "https://0.0.0.0/", "private"],
    ["unspecified in short", "https://0/", "private"],
    ["unspecified IPv6", "https://[::]/", "private"],
    ["10/8", "https://10.1.2.3/", "private"],
    ["172.16/12", "https://172.31.255.255/", "private"],
    ["192.168/16", "https://192.168.0.1/", "private"],
    ["CGNAT", "https://100.64.0.1/", "private"],
    ["unique local", "https://[fd00::1]/", "private"],
    ["link-local", "https://[fe80::1]/", "private"],
    ["a zone", "https://[fe80::1%25eth0]/", "not a URL"],
    ["multicast", "https://224.0.0.1/", "private"],
    ["broadcast", "https://255.255.255.255/", "private"],
    ["AWS's metadata service", "https://169.254.169.254/latest", "private"],
    ["the same, mapped", "https://[::ffff:169.254.169.254]/", "private"],
    ["the same as one number", "https://2852039166/", "private"],
    ["AWS's by IPv6", "https://[fd00:ec2::254]/", "private"],
    ["Google's by name", "https://metadata.google.internal/", "private"],
    ["Google's in short", "https://metadata/", "private"],
    ["Azure's", "https://168.63.129.16/", "private"],
    ["Alibaba's", "https://100.100.100.200/", "private"],
    ["a name of a home network", "https://nas.local/", "private"],
    ["a name without a dot", "https://alertmanager:9093/", "private"],
    ["a Service of the cluster", "https://alertmanager.monitoring.svc/", "private"],
    ["a name of a home network with dots behind", "https://nas.local../", "private"],
    ["a name of a company's network", "https://hooks.CORP./", "private"],
    ["a name of a private network", "https://nas.private:8443/", "private"],
    ["a name that leads to an address", "https://10.0.0.1.nip.io/", "private"],
    ["the same, in hex", "https://a9fea9fe.sslip.io/", "private"],
    ["a name that leads to loopback", "https://localtest.me/", "private"],
  ])("%s: %s", (_, text, why) => {
    expect(webhookAddress(text, "off")).toEqual({ ok: false, error: expect.stringContaining(why) as string });
  });
});

describe("an accepted address", () => {
  it.each([
    ["https://hooks.slack.com/services/T0/B0/x", "https://hooks.slack.com/services/T0/B0/x"],
    ["HTTPS://Hooks.Example.COM:8443/a?b=c", "https://hooks.example.com:8443/a?b=c"],
    ["https://1.1.1.1/", "https://1.1.1.1/"],
    ["https://172.32.0.1/", "https://172.32.0.1/"],
    ["https://[2606:4700::1]/", "https://[2606:4700::1]/"],
    ["https://10.0.0.1.example.com/", "https://10.0.0.1.example.com/"],
    ["https://svc.example.com/", "https://svc.example.com/"],
    ["https://mysvc.example/", "https://mysvc.example/"],
    ["https://nip.io.example.com/", "https://nip.io.example.com/"],
  ])("%s", (text, href) => {
    expect(webhookAddress(text, "off")).toEqual({ ok: true, value: href });
  });

  it.each([
    ["http://127.0.0.1:9093/", true, true],
    ["http://[::1]:9093/", true, true],
    ["http://localhost:9093/", true, true],
    ["http://10.0.0.1/", false, true],
    ["https://alertmanager.monitoring/", true, true],
    ["http://alertmanager:9093/", false, true],
    ["http://169.254.169.254/", false, true],
    ["ftp://127.0.0.1/", false, false],
  ])("%s, where loopback is allowed: %s; where all are: %s", (text, loopback, on) => {
    expect([webhookAddress(text, "loopback").ok, webhookAddress(text, "on").ok]).toEqual([loopback, on]);
  });
});
