// Tests which proxy the environment sets, and the errors for a malformed URL.
import { describe, expect, it, test } from "vitest";
import { faultOf } from "../../../node-shim/base/fault.ts";
import { isExcepted, proxyTo } from "../../../node-shim/worker-link/proxy.ts";

const WORKER = "https://rollcall.example.com";
const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;

test.each<[situation: string, environment: NodeJS.ProcessEnv, origin: string | undefined]>([
  ["nothing set", {}, undefined],
  ["HTTPS_PROXY", { HTTPS_PROXY: "http://proxy:3128" }, "http://proxy:3128"],
  ["with a slash", { HTTPS_PROXY: "http://proxy:3128/" }, "http://proxy:3128"],
  ["https_proxy", { https_proxy: "http://proxy:3128" }, "http://proxy:3128"],
  ["both", { HTTPS_PROXY: "http://upper", https_proxy: "http://lower" }, "http://upper"],
  ["an empty one", { HTTPS_PROXY: "", https_proxy: "http://lower" }, "http://lower"],
  ["blanks alone", { HTTPS_PROXY: " " }, undefined],
  ["without a scheme", { HTTPS_PROXY: "proxy:3128" }, "http://proxy:3128"],
  ["without scheme or port", { HTTPS_PROXY: "proxy" }, "http://proxy"],
  ["an address", { HTTPS_PROXY: "[2001:db8::1]:3128" }, "http://[2001:db8::1]:3128"],
  ["with TLS", { HTTPS_PROXY: "https://proxy:3129" }, "https://proxy:3129"],
  ["a line's end of Windows", { HTTPS_PROXY: "http://proxy:3128\r" }, "http://proxy:3128"],
  ["HTTP_PROXY alone", { HTTP_PROXY: "http://proxy:3128", http_proxy: "http://proxy:3128" }, undefined],
  ["ALL_PROXY alone", { ALL_PROXY: "http://proxy:3128" }, undefined],
  ["NO_PROXY", { HTTPS_PROXY: "proxy", NO_PROXY: "example.com" }, undefined],
  ["no_proxy", { HTTPS_PROXY: "proxy", no_proxy: "example.com" }, undefined],
  ["NO_PROXY of others", { HTTPS_PROXY: "proxy", NO_PROXY: "example.org" }, "http://proxy"],
])("%s → %s", (_situation, environment, origin) => {
  expect(proxyTo(WORKER, environment)?.origin).toBe(origin);
});

it("no proxy is used for a Worker on this machine", () => {
  for (const origin of ["http://127.0.0.1:8787", "http://localhost:8787", "https://localhost:8787"])
    expect(proxyTo(origin, { HTTPS_PROXY: "proxy", HTTP_PROXY: "proxy" })).toBeNull();
});

it("no proxy is used without TLS", () => {
  expect(proxyTo("http://rollcall.example.com", { HTTPS_PROXY: "proxy", HTTP_PROXY: "proxy" })).toBeNull();
});

describe("name and password", () => {
  test.each<[url: string, authorization: string | null]>([
    ["http://proxy", null],
    ["http://edge:secret@proxy", basic("edge:secret")],
    ["edge:secret@proxy:3128", basic("edge:secret")],
    ["http://edge@proxy", basic("edge:")],
    ["http://:secret@proxy", basic(":secret")],
    ["http://corp%5Cedge:p%40ss%3A%2F%25@proxy", basic("corp\\edge:p@ss:/%")],
    ["http://edge:p@ss@proxy", basic("edge:p@ss")],
    ["http://edge:p%C3%A4ss@proxy", basic("edge:päss")],
  ])("%s → the Proxy-Authorization header, without a part of it in the origin", (url, authorization) => {
    const proxy = proxyTo(WORKER, { HTTPS_PROXY: url });
    expect(proxy?.authorization).toBe(authorization);
    expect(proxy?.origin).toMatch(/^http:\/\/proxy(:3128)?$/);
  });
});

describe("a URL without a valid proxy → the variable is named, and the URL with its password is not printed", () => {
  test.each<[situation: string, url: string, said: RegExp]>([
    ["another scheme", "socks5://edge:Secret@proxy", /^HTTPS_PROXY must read http:\/\//],
    ["a scheme that ends like http", "xhttp://edge:Secret@proxy", /must read/],
    ["a scheme that begins with a digit", "1http://edge:Secret@proxy", /must read/],
    ["a URL in the name", "edge:1://Secret@proxy", /must read/],
    ["no host", "http://", /must read/],
    ["a malformed port", "http://edge:Secret@proxy:port", /must read/],
    ["a port too large", "http://edge:Secret@proxy:65536", /must read/],
    ["a path", "http://edge:Secret@proxy/path", /must read/],
    ["a query", "http://edge:Secret@proxy?x", /must read/],
    ["a # in a password of digits, which could pass for a host", "http://edge:1#Secret@proxy", /must read/],
    ["a / in it", "http://edge:1/Secret@proxy", /must read/],
    ["a ? in it", "http://edge:1?Secret@proxy", /must read/],
    ["a backslash in it", "http://edge:1\\Secret@proxy", /must read/],
    ["a header behind a line's end", "http://proxy:3128\r\nSecret: 1", /must read/],
    ["a blank in it", "http://edge:Secret word@proxy", /must read/],
    ["a % that encodes nothing", "http://edge:100%Secret@proxy", /a % .* must be written %25$/],
    ["bytes that are no UTF-8", "http://edge:%ffSecret@proxy", /must be written %25$/],
    ["a line's end, encoded", "http://edge:Secret%0d%0aX-Header:1@proxy", /control character/],
    ["a colon in the name", "http://Secret%3Aedge:x@proxy", /no name holds a colon/],
  ])("%s", (_situation, url, said) => {
    const thrown: unknown = (() => {
      try {
        return proxyTo(WORKER, { HTTPS_PROXY: url });
      } catch (error) {
        return error;
      }
    })();
    expect(thrown).toBeInstanceOf(Error);
    expect(faultOf(thrown)).toMatch(said);
    expect(faultOf(thrown)).not.toContain("Secret");
  });
});

// Tests the hosts that NO_PROXY excepts. Where Go has a rule, the situations come from Go's tests.

test.each<[list: string, host: string, excepted: boolean]>([
  // Loopback is always excepted.
  ["", "localhost", true],
  ["", "127.0.0.1", true],
  ["", "127.0.0.2", true],
  ["", "[::1]", true],
  ["", "[::ffff:127.0.0.1]", true],
  ["", "[::2]", false],
  ["", "localhost.net", false],
  ["", "local.localhost", false],
  // A domain excepts itself and all names below; with a leading dot, only the names below.
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
  // An entry with a port excepts only that port.
  ["example.com:443", "example.com", true],
  ["example.com:443", "a.example.com", true],
  ["example.com:443", "example.com:8443", false],
  ["example.com:8443", "example.com:8443", true],
  [".example.com:8443", "a.example.com", false],
  ["10.1.2.3:443", "10.1.2.3", true],
  ["10.1.2.3:80", "10.1.2.3", false],
  ["[2001:db8::1]:443", "[2001:db8::1]", true],
  ["[2001:db8::1]:80", "[2001:db8::1]", false],
  // Addresses and networks except only a URL whose host is an address.
  ["10.1.2.3", "10.1.2.3", true],
  ["10.1.2.3", "10.1.2.4", false],
  ["3", "10.1.2.3", false],
  ["2001:db8::1", "[2001:db8:0::1]", true],
  ["[2001:db8::1]", "[2001:db8::1]", true],
  ["10.0.0.0/8", "10.255.1.2", true],
  ["10.0.0.0/8", "11.0.0.1", false],
  ["10.9.9.9/8", "10.255.1.2", true],
  ["10.1.2.3/32", "10.1.2.3", true],
  ["10.1.2.3/32", "10.1.2.4", false],
  ["2001:db8::1/128", "[2001:db8::1]", true],
  ["0.0.0.0/0", "192.0.2.1", true],
  ["2001:db8::/32", "[2001:db8:1::]", true],
  ["2001:db8::/32", "[2001:db9::]", false],
  ["10.0.0.0/8", "a.example.com", false],
  // A list may have several entries.
  ["a.example, example.com", "example.com", true],
  ["a.example example.com", "example.com", true],
  ["a.example,,", "example.com", false],
  ["*", "example.com", true],
  ["a.example,*", "192.0.2.1", true],
  // An entry without a meaning excepts no host.
  ["10.0.0.0/33", "10.0.0.1", false],
  ["10.0.0.0/", "10.0.0.1", false],
  ["10.0.0.0/8/8", "10.0.0.1", false],
  ["10.0.0.0/-1", "10.0.0.1", false],
  ["10.0.0.0/8x", "10.0.0.1", false],
  ["10.0.0.0/x8", "10.0.0.1", false],
  ["2001:db8::/129", "[2001:db8::]", false],
  [".3", "10.1.2.3", false],
  ["a*.example.com", "a.example.com", false],
  ["x:example.com", "example.com", false],
  ["example.com:443x", "example.com", false],
  [",", "example.com.", false],
  [":443", "example.com", false],
  ["*.", "example.com", false],
  ["[", "example.com", false],
  ["https://example.com", "example.com", false],
])("NO_PROXY=%s, https://%s → excepted: %s", (list, host, excepted) => {
  expect(isExcepted(new URL(`https://${host}`), list)).toBe(excepted);
});
