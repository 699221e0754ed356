// The registry's tables: what an older registry becomes, and what the audit log forgets.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { audit, MAX_AUDIT_ENTRIES, readAudit } from "../../../worker/registry/audit.ts";
import { findPin } from "../../../worker/registry/pins.ts";
import { REGISTRY_MIGRATIONS } from "../../../worker/registry/schema.ts";
import { findToken } from "../../../worker/registry/tokens.ts";
import { migrate } from "../../../worker/storage/migrations.ts";

const within = <Result>(name: string, act: (storage: DurableObjectStorage) => Result) =>
  runInDurableObject(env.REGISTRY.getByName(name), (_, { storage }) => act(storage));

/** As registries were before they had pins. */
const OLD_REGISTRY = `
  DROP TABLE tokens; DROP TABLE enrolments; DROP TABLE tombstones; DROP TABLE pins; DROP TABLE pending;
  DROP TABLE generation; DROP TABLE audit; DROP TABLE origin_uses; DROP TABLE migrations;
  CREATE TABLE tokens (
    id TEXT PRIMARY KEY, key TEXT NOT NULL, names TEXT NOT NULL, expires_at_ms INTEGER NOT NULL,
    uses INTEGER NOT NULL, used INTEGER NOT NULL, without_facts_only_taint INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE enrolments (
    token TEXT NOT NULL, name TEXT NOT NULL, thumbprint TEXT NOT NULL, admitted_at_ms INTEGER NOT NULL,
    PRIMARY KEY (token, name, thumbprint)
  ) WITHOUT ROWID;
  CREATE TABLE tombstones (
    thumbprint TEXT NOT NULL, name TEXT NOT NULL, left_at_ms INTEGER NOT NULL, PRIMARY KEY (thumbprint, name)
  ) WITHOUT ROWID;
  INSERT INTO tokens VALUES ('t1', 'key-1', 'edge-*', 5000, 3, 2, 1), ('t2', 'key-2', 'edge-2', 1000, 1, 0, 0);
  INSERT INTO enrolments VALUES ('t1', 'edge-1', 'later', 200), ('t1', 'edge-1', 'first', 100);`;

describe("a registry from before there were pins", () => {
  it("→ its tokens go on, and a name is the key's that had it first", async () => {
    const found = await within("old-registry", (storage) => {
      storage.sql.exec(OLD_REGISTRY);
      migrate(storage, REGISTRY_MIGRATIONS);
      migrate(storage, REGISTRY_MIGRATIONS);
      const { sql } = storage;
      return { t1: findToken(sql, "t1", 2000), t2: findToken(sql, "t2", 2000), pin: findPin(sql, "edge-1") };
    });
    expect(found).toMatchObject({
      t1: {
        key: "key-1",
        names: "edge-*",
        uses: 3,
        used: 2,
        state: "valid",
        grant: { withoutFactsOnlyTaint: true },
      },
      t2: { state: "expired", rejoin: false, grant: { withoutFactsOnlyTaint: false } },
      pin: { thumbprint: "first", generation: 0, pinnedAtMs: 100, reportedAtMs: 100, revokedAtMs: null },
    });
  });
});

describe("the audit log", () => {
  it("at its limit → keeps the newest", async () => {
    const kept = await within("audit-limit", ({ sql }) => {
      const record = { who: "a test", what: "token.create", target: "t" } as const;
      audit(sql, record, 1);
      sql.exec("UPDATE audit SET id = 1");
      sql.exec("INSERT INTO audit SELECT ?, at_ms, who, what, target, detail FROM audit", MAX_AUDIT_ENTRIES);
      const atLimit = readAudit(sql, { limit: 10 }).length;
      audit(sql, record, 2);
      return [atLimit, readAudit(sql, { limit: 10 }).map(({ id }) => id)];
    });
    expect(kept).toEqual([2, [MAX_AUDIT_ENTRIES + 1, MAX_AUDIT_ENTRIES]]);
  });
});
