// Lists the equivalent mutants, with the reason of each.

/**
 * A row: the file, the whole line in which the mutant starts, the replaced text, the replacement, and the reason
 * why the mutant has no effect.
 */
type Row = readonly [string, string, string, string, string];

const BUG = "reached by a bug alone, and whatever follows fails as well";

export const table: readonly Row[] = [
  [
    "node-shim/worker-link/origin.ts",
    "if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.href !== `${parsed.origin}/`)",
    "/^https?:$/",
    "/https?:$/",
    "the origin of any other scheme with this end is null, which the next condition refuses",
  ],
  [
    "node-shim/worker-link/outbound.ts",
    "} catch {",
    "{ return false; }",
    "{}",
    "a function without a return returns undefined, which is as false",
  ],
  [
    "node-shim/identity/join-token.ts",
    "for (let read = -1; read !== 0 && length < MAX_BYTES; length += read)",
    "length < MAX_BYTES",
    "length <= MAX_BYTES",
    "once the buffer is full, a read of no bytes ends the loop",
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
    "whoever sets closedMs closes the socket, whose readyState is then no longer OPEN",
  ],
  [
    "worker/gateway/sockets.ts",
    "} catch {",
    "{ return undefined; }",
    "{}",
    "a function without a return returns undefined",
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
