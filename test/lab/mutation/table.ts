// Lists the equivalent mutants, with the reason of each.

/**
 * A row: the file, the whole line in which the mutant starts, the replaced text, the replacement, and the reason
 * why the mutant has no effect.
 */
type Row = readonly [string, string, string, string, string];

const BUG = "reached by a bug alone, and whatever follows fails as well";

export const table: readonly Row[] = [
  [
    "shared/from-report/parsed-settings.ts",
    "const evictionHard = settings.evictionHard ?? effectiveEvictionHard(null, false);",
    "false",
    "true",
    "without thresholds there is nothing to add the defaults to",
  ],
  [
    "shared/from-report/reported-status.ts",
    "daemonEndpoints: { kubeletEndpoint: { Port: 0 } },",
    "{ Port: 0 }",
    "{}",
    "the setter of the port sets 0 without one",
  ],
  [
    "shared/from-report/reported-status.ts",
    "daemonEndpoints: { kubeletEndpoint: { Port: 0 } },",
    "{ kubeletEndpoint: { Port: 0 } }",
    "{}",
    "the setter of the port sets 0 without one",
  ],
  [
    "shared/from-report/reported-node.ts",
    "known.set(facts, setters);",
    "known.set(facts, setters);",
    ";",
    "the cache only saves time",
  ],
  [
    "shared/from-report/reported-status.ts",
    "const own = success(onInterface.flatMap((ip) => parseIpSloppy(ip) ?? []));",
    "[]",
    '["Stryker was here"]',
    "no node IP equals this text",
  ],
  [
    "shared/from-report/within-grant.ts",
    "let isBeyond = false;",
    "false",
    "true",
    "the Node gets a copy of the same labels",
  ],
  [
    "shared/from-report/within-grant.ts",
    "if (left.length === 0) return [];",
    "left.length === 0",
    "false",
    "the Node gets copies of the same lists",
  ],
  [
    "shared/from-report/within-grant.ts",
    "otherOwner(before?.metadata, pathOf(type), holder.fieldManager) !== null;",
    "before?.metadata",
    "before.metadata",
    "only an earlier Node has an address here",
  ],
  [
    "worker/gateway/gateway.ts",
    "held.open().flatMap(({ attachment }) => (attachment.beatMs === null ? [] : attachment.name)),",
    "[]",
    '["Stryker was here"]',
    "no machine has this name",
  ],
  [
    "worker/gateway/sockets.ts",
    "return this.#open(name)",
    "this.#open(name) .filter(({ readyState }) => readyState === OPEN) .map((socket) => this.of(socket)) .filter(({ closedMs }) => closedMs === null)",
    "this.#open(name).filter(({ readyState }) => readyState === OPEN).map(socket => this.of(socket))",
    "each caller that sets closedMs also closes the socket, whose readyState is then no longer OPEN",
  ],
  [
    "worker/gateway/sockets.ts",
    "} catch {",
    "{ return undefined; }",
    "{}",
    "a function without a return returns undefined",
  ],
  [
    "worker/gateway/sockets.ts",
    "if (3 * frame.length <= LIMITS.bodyBytes) return false;",
    "3 * frame.length <= LIMITS.bodyBytes",
    "3 * frame.length < LIMITS.bodyBytes",
    "a frame at this bound is encoded, and is within the limit",
  ],
  [
    "worker/http/fleet-routes.ts",
    "const tag = await shortDigestOf(VERSION, format, queryText(c, []), JSON.stringify(others));",
    "[]",
    '["Stryker was here"]',
    "no query has a parameter of this name",
  ],
  [
    "worker/http/lists.ts",
    'if (typeof value !== "object") return typeof value === "string" ? value : JSON.stringify(value);',
    'typeof value === "string"',
    "true",
    "a number or a boolean has the same text in its cell",
  ],
  [
    "worker/identity/jwt.ts",
    "} catch {",
    "{ return undefined; }",
    "{}",
    "a function without a return returns undefined",
  ],
  [
    "worker/machine/upkeep.ts",
    'if (!report) throw new Error("a tick without a report");',
    'throw new Error("a tick without a report");',
    ";",
    BUG,
  ],
];
