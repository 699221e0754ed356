// What a backup has of notifications: receivers and mutes. Addresses and secrets of receivers leave the Worker sealed under
// KID_MAC_KEYS, without which no backup is of use anyway.
import * as z from "zod/mini";
import type { BackupCell, BackupRows } from "../../shared/protocol/backup.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { entriesOf } from "../../shared/deployment/check-result.ts";
import { sealer } from "../storage/sealed-text.ts";

export type NotificationTable = "receivers" | "mutes";

const COLUMNS = {
  receivers: ["name", "settings", "sealed"],
  mutes: ["from_ms", "until_ms", "filter", "comment", "who"],
} as const satisfies Record<NotificationTable, readonly string[]>;

const targetSchema = z.object({ url: z.string(), authorization: z.string(), secret: z.string() });
type Target = z.infer<typeof targetSchema>;

/** A receiver with what is open of it again. */
interface OpenedReceiver {
  name: BackupCell;
  settings: BackupCell;
  target: Target;
}

const SALT = "rollcall-backup";
const sealerOf = (macKey: string) => sealer(macKey, SALT);

/** All rows of the table. `macKeys`: KID_MAC_KEYS, of which the first seals. */
export async function notificationRows(
  sql: SqlStorage,
  table: NotificationTable,
  macKeys: string,
): Promise<BackupRows> {
  const columns = [...COLUMNS[table]];
  if (table === "mutes") {
    const rows = [...sql.exec(`SELECT ${columns.join(", ")} FROM mutes ORDER BY id`).raw()];
    return { table, columns, rows: rows as BackupCell[][] };
  }
  const { seal } = await sealerOf(entriesOf(macKeys)[0] ?? "");
  const kept = sql.exec<{ name: string; settings: string } & Target>("SELECT * FROM receivers ORDER BY name");
  const rows = kept.toArray().map(async ({ name, settings, url, authorization, secret }) => {
    const target: Target = { url, authorization, secret };
    return [name, settings, await seal(JSON.stringify(target))];
  });
  return { table, columns, rows: await Promise.all(rows) };
}

/** Adds what is not there already, so that it can be repeated. The error: these keys open it not. */
export async function takeNotificationRows(
  storage: DurableObjectStorage,
  pages: readonly BackupRows[],
  macKeys: string,
): Promise<Result<null>> {
  const { sql } = storage;
  const rowsOf = (table: NotificationTable) =>
    pages.filter((page) => page.table === table).flatMap(({ rows }) => rows);
  const opened = await Promise.all(rowsOf("receivers").map((row) => openedReceiver(row, macKeys)));
  const receivers = opened.filter((receiver) => receiver !== null);
  if (receivers.length < opened.length)
    return failure("a receiver's address cannot be opened with KID_MAC_KEYS");
  storage.transactionSync(() => {
    const receiver = `INSERT INTO receivers VALUES (?, ?, ?, ?, ?, NULL, 0, NULL, '', 0) ON CONFLICT DO NOTHING`;
    for (const { name, settings, target } of receivers)
      sql.exec(receiver, name, settings, target.url, target.authorization, target.secret);
    const mute = `INSERT INTO mutes SELECT NULL, ?1, ?2, ?3, ?4, ?5 WHERE NOT EXISTS (SELECT 1 FROM mutes
      WHERE from_ms = ?1 AND until_ms = ?2 AND filter = ?3 AND comment = ?4 AND who = ?5)`;
    for (const row of rowsOf("mutes")) sql.exec(mute, ...row);
  });
  return success(null);
}

async function openedReceiver(
  [name = null, settings = null, sealed]: BackupCell[],
  macKeys: string,
): Promise<OpenedReceiver | null> {
  for (const macKey of entriesOf(macKeys)) {
    const text = await (await sealerOf(macKey)).open(String(sealed));
    const target = text === null ? null : targetSchema.safeParse(JSON.parse(text));
    if (target?.success) return { name, settings, target: target.data };
  }
  return null;
}
