// Lists: selectors, pages, revisions, and the options that do not go together.
import { expect } from "vitest";
import { type Received, send, type TestServer } from "../test-server.ts";
import { type Case, configMaps, events, failure, leases, nodes, type RequestCase } from "./case.ts";

function listed(names: string[], ...paths: string[]) {
  return paths.map((path) => ({ path, names }));
}

/** Objects of one namespace, made for one case, told apart by a label. */
function labelled(name: string, labels: Record<string, string>) {
  return { metadata: { name, labels } };
}

function query(parameters: Record<string, string>): string {
  return new URLSearchParams(parameters).toString();
}

/** A selector that cannot be understood. */
function badSelector(
  parameter: "labelSelector" | "fieldSelector",
  selector: string,
  why: string,
): RequestCase {
  return {
    situation: `${parameter} ${JSON.stringify(selector)}`,
    request: () => ({ path: `${nodes}?${query({ [parameter]: selector })}` }),
    outcome: () => failure(400, "BadRequest", why),
  };
}

const keyFault =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
  "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
  "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const valueFault =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and " +
  "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
  "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const requirement = "unable to parse requirement:";
const operators = "in, notin, =, ==, !=, gt, lt";

const badSelectors: Case[] = [
  badSelector("labelSelector", "a in", `${requirement} found '' expected: '('`),
  badSelector("labelSelector", "a in (b", `${requirement} found '', expected: ',' or ')'`),
  badSelector("labelSelector", "a in (b c)", `${requirement} found 'c', expected: ',' or ')'`),
  badSelector("labelSelector", "a in (!)", `${requirement} found '!', expected: ',', ')' or identifier`),
  badSelector("labelSelector", ",", "found ',', expected: !, identifier, or 'end of string'"),
  badSelector("labelSelector", "a=b,", "found '', expected: identifier after ','"),
  badSelector("labelSelector", "a=b,=", "found '=', expected: identifier after ','"),
  badSelector("labelSelector", "a==b==c", "found '==', expected: ',' or 'end of string'"),
  badSelector("labelSelector", "a b", `${requirement} found 'b', expected: ${operators}`),
  badSelector("labelSelector", "a=(", `${requirement} found '(', expected: identifier`),
  badSelector("labelSelector", "!!a", `${requirement} found '!', expected: identifier`),
  badSelector("labelSelector", "!a=b", "found '=', expected: ',' or 'end of string'"),
  badSelector("labelSelector", "-a=b", `${requirement} <nil>: Invalid value: "-a": ${keyFault}`),
  badSelector(
    "labelSelector",
    "a/b/c",
    `${requirement} <nil>: Invalid value: "a/b/c": a valid label key ${keyFault.slice("name part ".length)} ` +
      "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
  ),
  badSelector("labelSelector", "a=-b", `${requirement} values[0][a]: Invalid value: "-b": ${valueFault}`),
  badSelector(
    "labelSelector",
    "a>x",
    `${requirement} values[0]: Invalid value: "x": for 'Gt', 'Lt' operators, the value must be an integer`,
  ),
  badSelector(
    "fieldSelector",
    "metadata.name",
    "invalid selector: 'metadata.name'; can't understand 'metadata.name'",
  ),
  badSelector("fieldSelector", "spec.nothing=x", "field label not supported: spec.nothing"),
  badSelector("fieldSelector", "metadata.namespace=x", "field label not supported: metadata.namespace"),
  badSelector("fieldSelector", "metadata.name=a\\b", "invalid field selector: invalid escape sequence: \\b"),
  badSelector(
    "fieldSelector",
    "metadata.name=a=b",
    "invalid field selector: unescaped character in value: 61",
  ),
];

/** Which of four objects a label selector selects: `a`, `ab` (also b=2), `b` (b=10) and `none`. */
function selects(selector: string, ...expected: string[]): Case {
  return {
    situation: `labelSelector ${JSON.stringify(selector)} → ${expected.join(", ") || "nothing"}`,
    before: (name) =>
      [
        labelled(`${name}-a`, { case: name, a: "1" }),
        labelled(`${name}-ab`, { case: name, a: "2", b: "2", "example.com/c": "" }),
        labelled(`${name}-b`, { case: name, b: "10", in: "notin" }),
        labelled(`${name}-none`, { case: name }),
      ].map((body) => ({ method: "POST", path: configMaps, body })),
    request: (name) => ({ path: `${configMaps}?${query({ labelSelector: `case=${name},${selector}` })}` }),
    outcome: (name) => ({
      code: 200,
      body: { items: expected.map((suffix) => ({ metadata: { name: `${name}-${suffix}` } })) },
    }),
  };
}

const selecting: Case[] = [
  selects("a", "a", "ab"),
  selects("!a", "b", "none"),
  selects("a=1", "a"),
  selects("a == 1", "a"),
  selects("a!=1", "ab", "b", "none"),
  selects("a in (1,3)", "a"),
  selects("a in (1, 2),b", "ab"),
  selects("a notin (1)", "ab", "b", "none"),
  selects("a in ()"),
  selects("example.com/c in (,x)", "ab"),
  selects("example.com/c=", "ab"),
  selects("b>2", "b"),
  selects("b<3", "ab"),
  selects("in in (notin,in)", "b"),
  selects(" a , b ", "ab"),
];

function errorCase(situation: string, path: string, outcome: ReturnType<typeof failure>): Case {
  return { situation, request: () => ({ path }), outcome: () => outcome };
}

const unparsed = (text: string) => `strconv.ParseInt: parsing "${text}": invalid syntax`;
const unsigned = (text: string) =>
  `resourceVersion: Invalid value: "${text}": strconv.ParseUint: parsing "${text}": invalid syntax`;

/** ListOptions that contradict themselves: each cause's reason and text. */
function invalidOptions(parameters: Record<string, string>, field: string, ...texts: string[]): Case {
  const all = texts.map((text) => `${field}: ${text}`);
  const joined = all.length === 1 ? all.join("") : `[${all.join(", ")}]`;
  return errorCase(
    `${query(parameters)} → 422`,
    `${nodes}?${query(parameters)}`,
    failure(422, "Invalid", `ListOptions.meta.k8s.io "" is invalid: ${joined}`, {
      group: "meta.k8s.io",
      kind: "ListOptions",
      causes: texts.map((message) => ({
        reason: message.startsWith("Forbidden") ? "FieldValueForbidden" : "FieldValueNotSupported",
        message,
        field,
      })),
    }),
  );
}

const match = "resourceVersionMatch";

const options: Case[] = [
  errorCase("limit=x", `${nodes}?limit=x`, failure(400, "BadRequest", unparsed("x"))),
  errorCase("limit=1.5", `${nodes}?limit=1.5`, failure(400, "BadRequest", unparsed("1.5"))),
  errorCase("timeoutSeconds=x", `${nodes}?timeoutSeconds=x`, failure(400, "BadRequest", unparsed("x"))),
  errorCase(
    "limit=99999999999999999999",
    `${nodes}?limit=99999999999999999999`,
    failure(400, "BadRequest", 'strconv.ParseInt: parsing "99999999999999999999": value out of range'),
  ),
  errorCase(
    "resourceVersion=x",
    `${nodes}?resourceVersion=x`,
    failure(400, "BadRequest", `invalid resource version: ${unsigned("x")}`),
  ),
  errorCase(
    "resourceVersion=-1",
    `${nodes}?resourceVersion=-1`,
    failure(400, "BadRequest", `invalid resource version: ${unsigned("-1")}`),
  ),
  {
    ...errorCase("limit=-1 is no limit", `${nodes}?limit=-1&labelSelector=case=nobody`, failure(0, "", "")),
    outcome: () => ({ code: 200 }),
  },
  {
    ...errorCase("an unknown parameter is ignored", `${nodes}?foo=bar&limit=1`, failure(0, "", "")),
    outcome: () => ({ code: 200 }),
  },
  invalidOptions(
    { [match]: "Exact" },
    match,
    `Forbidden: ${match} is forbidden unless resourceVersion is provided`,
  ),
  invalidOptions(
    { [match]: "Exact", resourceVersion: "0" },
    match,
    `Forbidden: ${match} "exact" is forbidden for resourceVersion "0"`,
  ),
  invalidOptions(
    { [match]: "Foo", resourceVersion: "5" },
    match,
    'Unsupported value: "Foo": supported values: "Exact", "NotOlderThan", ""',
  ),
  invalidOptions(
    { [match]: "NotOlderThan", resourceVersion: "5", continue: "x" },
    match,
    `Forbidden: ${match} is forbidden when continue is provided`,
  ),
  invalidOptions(
    { [match]: "Foo" },
    match,
    `Forbidden: ${match} is forbidden unless resourceVersion is provided`,
    'Unsupported value: "Foo": supported values: "Exact", "NotOlderThan", ""',
  ),
  invalidOptions(
    { sendInitialEvents: "true" },
    "sendInitialEvents",
    "Forbidden: sendInitialEvents is forbidden for list",
  ),
];

function badToken(text: string, why: string): Case {
  return errorCase(
    `continue=${text}`,
    `${nodes}?continue=${text}`,
    failure(400, "BadRequest", `invalid continue token: continue key is not valid: ${why}`),
  );
}

function token(content: object): string {
  return Buffer.from(JSON.stringify(content)).toString("base64url");
}

const v1 = "meta.k8s.io/v1";

const tokens: Case[] = [
  badToken("x", "illegal base64 data at input byte 0"),
  badToken("abc*", "illegal base64 data at input byte 3"),
  badToken(token({}), "server does not recognize this encoded version "),
  badToken(token({ v: "v2" }), "server does not recognize this encoded version v2"),
  badToken(token({ v: v1 }), `incorrect encoded start resourceVersion (version ${v1})`),
  badToken(token({ v: v1, rv: 1 }), `encoded start key empty (version ${v1})`),
  badToken(token({ v: v1, rv: 1, start: "../x" }), "../x"),
  {
    situation: "a continue token with a resourceVersion",
    request: () => ({ path: `${nodes}?resourceVersion=5&continue=${token({ v: v1, rv: 1, start: "x" })}` }),
    outcome: () =>
      failure(400, "BadRequest", "specifying resource version is not allowed when using continue"),
  },
];

const tooLarge = {
  code: 504,
  headers: { "retry-after": "1" },
  body: {
    status: "Failure",
    message: expect.stringMatching(/^Timeout: Too large resource version: 99999999, current: \d+$/),
    reason: "Timeout",
    details: {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1,
    },
    code: 504,
  },
};

const future = "resourceVersion=99999999";

/** All at once: a real server waits for some seconds whether it will not catch up. */
const revisions: Case[] = [
  {
    situation: "a resourceVersion that is ahead of the server → 504, in each way of asking for it",
    run: async (server) => {
      const paths = [
        `${leases}?${future}`,
        `${leases}?${future}&limit=5`,
        `${leases}?${future}&${match}=Exact`,
        `${leases}?${future}&${match}=NotOlderThan`,
        `/api/v1/namespaces/default?${future}`,
      ];
      const answers = await Promise.all(paths.map((path) => send(server, { path })));
      for (const answer of answers) expect(answer).toMatchObject(tooLarge);
    },
  },
];

async function makeMaps(server: TestServer, name: string, ...suffixes: string[]): Promise<Received> {
  let last: Received | undefined;
  for (const suffix of suffixes) {
    const body = labelled(`${name}-${suffix}`, { case: name });
    last = await send(server, { method: "POST", path: configMaps, body });
    expect(last.code, last.text).toBe(201);
  }
  return last!;
}

interface Listed {
  names: string[];
  metadata: { resourceVersion: string; continue?: string; remainingItemCount?: number };
}

async function list(server: TestServer, path: string): Promise<Listed> {
  const { code, text } = await send(server, { path });
  expect(code, text).toBe(200);
  const { items, metadata } = JSON.parse(text);
  return { names: items.map((item: { metadata: { name: string } }) => item.metadata.name), metadata };
}

/** A namespace of the case's own: only there remainingItemCount is known. */
async function makeNamespace(server: TestServer, name: string): Promise<string> {
  await send(server, { method: "POST", path: "/api/v1/namespaces", body: { metadata: { name } } });
  return `/api/v1/namespaces/${name}/configmaps`;
}

const pages: Case[] = [
  {
    situation: "pages go on as of the first one, whatever happens in between",
    run: async (server, name) => {
      const path = await makeNamespace(server, name);
      for (const item of ["a", "b", "c"]) {
        await send(server, { method: "POST", path, body: { metadata: { name: item } } });
      }
      const first = await list(server, `${path}?limit=1`);
      expect(first).toMatchObject({ names: ["a"], metadata: { remainingItemCount: 2 } });
      await send(server, { method: "DELETE", path: `${path}/b` });
      await send(server, { method: "POST", path, body: { metadata: { name: "d" } } });
      const second = await list(server, `${path}?limit=1&continue=${first.metadata.continue}`);
      const { resourceVersion } = first.metadata;
      expect(second).toMatchObject({ names: ["b"], metadata: { resourceVersion, remainingItemCount: 1 } });
      const third = await list(server, `${path}?limit=1&continue=${second.metadata.continue}`);
      expect(third).toEqual({ names: ["c"], metadata: { resourceVersion } });
      expect((await list(server, path)).names).toEqual(["a", "c", "d"]);
    },
  },
  {
    situation: "a page of a selection does not say how many remain, and may be followed by an empty one",
    run: async (server, name) => {
      const path = await makeNamespace(server, name);
      for (const [item, kind] of Object.entries({ a: "x", b: "x", c: "y" })) {
        await send(server, { method: "POST", path, body: labelled(item, { kind }) });
      }
      const first = await list(server, `${path}?limit=2&labelSelector=kind=x`);
      expect(first.names).toEqual(["a", "b"]);
      expect(first.metadata.remainingItemCount).toBeUndefined();
      const second = await list(server, `${path}?labelSelector=kind=x&continue=${first.metadata.continue}`);
      expect(second.names).toEqual([]);
    },
  },
  {
    situation: "a token is the real one's: version, revision, and where it starts",
    run: async (server, name) => {
      const path = await makeNamespace(server, name);
      for (const item of ["a", "b"]) {
        await send(server, { method: "POST", path, body: { metadata: { name: item } } });
      }
      const { metadata } = await list(server, `${path}?limit=1`);
      expect(JSON.parse(Buffer.from(metadata.continue ?? "", "base64url").toString())).toEqual({
        v: v1,
        rv: Number(metadata.resourceVersion),
        start: "/a\0",
      });
    },
  },
  {
    situation: "a token may go on at the latest revision",
    run: async (server, name) => {
      const path = await makeNamespace(server, name);
      for (const item of ["a", "b"]) {
        await send(server, { method: "POST", path, body: { metadata: { name: item } } });
      }
      const rest = await list(server, `${path}?continue=${token({ v: v1, rv: -1, start: "a\0" })}`);
      expect(rest.names).toEqual(["b"]);
    },
  },
  {
    situation: "all namespaces are in the order of their objects' keys",
    run: async (server, name) => {
      for (const namespace of [name, `${name}-a`]) {
        const path = await makeNamespace(server, namespace);
        await send(server, { method: "POST", path, body: labelled("x", { case: name }) });
      }
      const { text } = await send(server, { path: `/api/v1/configmaps?labelSelector=case=${name}` });
      const namespaces = JSON.parse(text).items.map(
        (item: { metadata: { namespace: string } }) => item.metadata.namespace,
      );
      expect(namespaces).toEqual([`${name}-a`, name]);
    },
  },
  {
    situation: "any revision is served whole, whatever the limit",
    run: async (server, name) => {
      await makeMaps(server, name, "a", "b");
      const mine = `${configMaps}?labelSelector=case=${name}`;
      // A cache may lag behind: it is waited for, since any revision may be one of before.
      const now = await list(server, mine);
      await list(server, `${mine}&resourceVersion=${now.metadata.resourceVersion}`);
      const { names, metadata } = await list(server, `${mine}&limit=1&resourceVersion=0`);
      expect(names).toEqual([`${name}-a`, `${name}-b`]);
      expect(metadata.continue).toBeUndefined();
    },
  },
  {
    situation: "Exact is the list as it was, also with a limit and no match",
    run: async (server, name) => {
      const { body } = await makeMaps(server, name, "a", "b");
      const { resourceVersion = "" } = body.metadata;
      await send(server, { method: "DELETE", path: `${configMaps}/${name}-a` });
      const label = { type: "merge", body: { metadata: { labels: { case: "other" } } } };
      await send(server, { method: "PATCH", path: `${configMaps}/${name}-b`, ...label });
      await makeMaps(server, name, "c");
      const selected = `${configMaps}?labelSelector=case=${name}`;
      const exact = `${selected}&resourceVersion=${resourceVersion}&${match}=Exact`;
      for (const { path, names } of listed([`${name}-a`, `${name}-b`], exact)) {
        expect(await list(server, path)).toMatchObject({ names, metadata: { resourceVersion } });
      }
      const limited = `${selected}&resourceVersion=${resourceVersion}&limit=1`;
      expect(await list(server, limited)).toMatchObject({
        names: [`${name}-a`],
        metadata: { resourceVersion },
      });
      for (const path of [
        selected,
        `${selected}&resourceVersion=${resourceVersion}`,
        `${selected}&resourceVersion=${resourceVersion}&${match}=NotOlderThan`,
      ]) {
        const { names, metadata } = await list(server, path);
        expect(names).toEqual([`${name}-c`]);
        expect(Number(metadata.resourceVersion)).toBeGreaterThan(Number(resourceVersion));
      }
    },
  },
];

const fields: Case[] = [
  {
    situation: "an escaped comma in a field's value",
    request: () => ({ path: `${configMaps}?fieldSelector=metadata.name=a\\,b` }),
    outcome: () => ({ code: 200, body: { items: [] } }),
  },
  {
    situation: "two fields that no object has both of",
    request: () => ({ path: `${events}?fieldSelector=metadata.name=a,metadata.name=b` }),
    outcome: () => ({ code: 200, body: { items: [] } }),
  },
  {
    situation: "a cluster's objects have no namespace to select by",
    request: () => ({
      path: "/apis/rbac.authorization.k8s.io/v1/clusterroles?fieldSelector=metadata.namespace=x",
    }),
    outcome: () => ({ code: 200, body: { items: [] } }),
  },
  {
    situation: "namespaces by phase and name",
    request: () => ({
      path: "/api/v1/namespaces?fieldSelector=status.phase=Active,metadata.name=kube-system",
    }),
    outcome: () => ({ code: 200, body: { items: [{ metadata: { name: "kube-system" } }] } }),
  },
  {
    situation: "secrets by type",
    request: () => ({ path: "/api/v1/secrets?fieldSelector=type=example.com/none" }),
    outcome: () => ({ code: 200, body: { items: [] } }),
  },
  {
    situation: "an object by resourceVersion: what is not a number",
    request: () => ({ path: "/api/v1/namespaces/default?resourceVersion=x" }),
    outcome: () => ({ code: 500, body: { status: "Failure", message: unsigned("x"), code: 500 } }),
  },
  {
    situation: "an object at any resourceVersion",
    request: () => ({ path: "/api/v1/namespaces/default?resourceVersion=0" }),
    outcome: () => ({ code: 200, body: { metadata: { name: "default" } } }),
  },
];

export const listing: Case[] = [
  ...selecting,
  ...badSelectors,
  ...fields,
  ...options,
  ...tokens,
  ...revisions,
  ...pages,
];
