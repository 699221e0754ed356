// NO_PROXY: which hosts it excepts. Where Go has a rule, the situations are those of its own tests.
import { expect, test } from "vitest";
import { isExcepted } from "../../../../node-shim/worker-link/proxy.ts";

test.each<[list: string, host: string, excepted: boolean]>([
  // Loopback, always.
  ["", "localhost", true],
  ["", "127.0.0.1", true],
  ["", "127.0.0.2", true],
  ["", "[::1]", true],
  ["", "[::ffff:127.0.0.1]", true],
  ["", "[::2]", false],
  ["", "localhost.net", false],
  ["", "local.localhost", false],
  // A domain, and all below it; with a dot before it, only those below.
  ["example.com", "example.com", true],
  ["example.com", "a.b.example.com", true],
  ["example.com", "myexample.com", false],
  ["example.com", "example.com.net", false],
  [".example.com", "a.example.com", true],
  [".example.com", "example.com", false],
  ["*.example.com", "a.example.com", true],
  ["*.example.com", "example.com", false],
  ["EXAMPLE.com", "Example.COM", true],
  ["bücher.example", "xn--bcher-kva.example", true],
  [".bücher.example", "a.bücher.example", true],
  ["com", "example.com", true],
  // Ports.
  ["example.com:443", "example.com", true],
  ["example.com:443", "a.example.com", true],
  ["example.com:443", "example.com:8443", false],
  ["example.com:8443", "example.com:8443", true],
  [".example.com:8443", "a.example.com", false],
  ["10.1.2.3:443", "10.1.2.3", true],
  ["10.1.2.3:80", "10.1.2.3", false],
  ["[2001:db8::1]:443", "[2001:db8::1]", true],
  ["[2001:db8::1]:80", "[2001:db8::1]", false],
  // Addresses and networks, of a URL with an address alone.
  ["10.1.2.3", "10.1.2.3", true],
  ["10.1.2.3", "10.1.2.4", false],
  ["3", "10.1.2.3", false],
  ["2001:db8::1", "[2001:db8:0::1]", true],
  ["[2001:db8::1]", "[2001:db8::1]", true],
  ["10.0.0.0/8", "10.255.1.2", true],
  ["10.0.0.0/8", "11.0.0.1", false],
  ["10.9.9.9/8", "10.255.1.2", true],
  ["0.0.0.0/0", "192.0.2.1", true],
  ["2001:db8::/32", "[2001:db8:1::]", true],
  ["2001:db8::/32", "[2001:db9::]", false],
  ["10.0.0.0/8", "a.example.com", false],
  // Several of them.
  ["a.example, example.com", "example.com", true],
  ["a.example example.com", "example.com", true],
  ["a.example,,", "example.com", false],
  ["*", "example.com", true],
  ["a.example,*", "192.0.2.1", true],
  // What means nothing excepts nothing.
  ["10.0.0.0/33", "10.0.0.1", false],
  ["10.0.0.0/", "10.0.0.1", false],
  ["10.0.0.0/8/8", "10.0.0.1", false],
  ["10.0.0.0/-1", "10.0.0.1", false],
  [":443", "example.com", false],
  ["*.", "example.com", false],
  ["[", "example.com", false],
  ["https://example.com", "example.com", false],
])("NO_PROXY=%s, https://%s → excepted: %s", (list, host, excepted) => {
  expect(isExcepted(new URL(`https://${host}`), list)).toBe(excepted);
});
