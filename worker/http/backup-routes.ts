// Serves a backup to admins: exports it page by page, and imports it into a deployment without machines. Each page
// has a MAC by KID_MAC_KEYS, so that the Worker refuses a changed page or a page made with other keys.
import type { Context } from "hono";
import { Hono } from "hono/tiny";
import * as z from "zod/mini";
import {
  BACKUP_FORMAT,
  BACKUP_TABLES,
  type BackupCell,
  type BackupPage,
  type BackupTable,
} from "../../shared/protocol/backup.ts";
import type { BackupAnswer, ImportState } from "../../shared/protocol/administration-answers.ts";
import { canonicalJson } from "../../shared/protocol/digest.ts";
import { BACKUP_LIMITS } from "../../shared/protocol/limits.ts";
import { fleetIndex, origins, registry } from "../env.ts";
import { backupPlace, newBackupCursor } from "../identity/issued.ts";
import { isMacOf, type MacKey, macOf, randomNonce, signingKey } from "../identity/mac-keys.ts";
import type { TablePage } from "../registry/imports.ts";
import { cursorOfValues, readCursor } from "./lists.ts";
import { type App, done, macKeysOf, refuse, refuseParameter, refuseUnconfigured } from "./responses.ts";
import { serve } from "./route.ts";
import { currentMs } from "../clock.ts";

export const backupRoutes = new Hono<App>();

serve(backupRoutes, "GET /v1/backup", async (c, { query }) => {
  const unconfigured = refuseUnconfigured(c);
  if (unconfigured) return unconfigured;
  const { who } = c.var.operator;
  const position =
    query.after === undefined
      ? ([randomNonce(), 1, BACKUP_TABLES[0], null, currentMs()] as const)
      : await positionOf(c, query.after);
  if (!position) return refuseParameter("after", WRONG_CURSOR);
  const [id, page, table, from, startMs] = position;
  // The Worker signs only cursors of exports whose first page it has served, so that each export is in the log.
  if (page === 1) await registry(c.env).noteChange({ who, what: "backup.export", target: id });
  const { rows, next: key } = await tablePage(c, table, from);
  const following = key ? table : BACKUP_TABLES[BACKUP_TABLES.indexOf(table) + 1];
  const unsigned = {
    rollcallBackup: BACKUP_FORMAT,
    id,
    page,
    isLast: following === undefined,
    at: new Date(currentMs()).toISOString(),
    deployment: c.env.DEPLOYMENT,
    ...rows,
  } as const;
  const mac = await pageMac(signingKey(macKeysOf(c)), unsigned);
  const place = cursorOfValues([id, page + 1, following, key, startMs]);
  const next = following === undefined ? null : await newBackupCursor(macKeysOf(c), { who, place });
  return c.json({ page: { ...unsigned, mac }, next } satisfies BackupAnswer);
});

/** Returns the position of a cursor; null if the cursor is forged, of another operator's export, or expired. */
async function positionOf(c: Context<App>, cursor: string) {
  const place = await backupPlace(macKeysOf(c), c.var.operator.who, cursor);
  const position = readCursor(cursorSchema, place ?? "");
  const sinceMs = currentMs() - (position?.[4] ?? 0);
  return sinceMs <= BACKUP_LIMITS.exportSeconds * 1000 ? position : null;
}

const WRONG_CURSOR = `must be the \`next\` of a page that you got within ${BACKUP_LIMITS.exportSeconds} s of this export's first page: begin again without it`;

/** Returns a page of a table. `key`: the key of the previous page's last row; null for the table's first page. */
async function tablePage(c: Context<App>, table: BackupTable, key: BackupCell[] | null): Promise<TablePage> {
  if (table === "deployment") return { rows: await aboutDeployment(c), next: null };
  if (table === "receivers" || table === "mutes")
    return { rows: await fleetIndex(c.env).backupRows(table), next: null };
  return registry(c.env).backupRows(table, key);
}

/**
 * Returns the values that the importing deployment must share: the origins, and a value identifying each MAC key. Also
 * states the backup's tables.
 */
async function aboutDeployment(c: Context<App>): Promise<TablePage["rows"]> {
  const macKeys = await Promise.all(macKeysOf(c).map(async (key) => ["mac-key", key.id, await checkOf(key)]));
  const own = origins(c.env).map((origin) => ["origin", origin, ""]);
  const tables = BACKUP_TABLES.map((table) => ["table", table, ""]);
  return { table: "deployment", columns: ["what", "name", "check"], rows: [...macKeys, ...own, ...tables] };
}

const checkOf = (key: MacKey) => macOf(key, "backup", "this key");

/** Returns the text that the MAC of a page covers. Equal pages have equal texts. */
const pageText = (page: Partial<BackupPage>) => canonicalJson({ ...page, mac: undefined });

const pageMac = async (key: MacKey, page: Partial<BackupPage>) =>
  `${key.id}.${await macOf(key, "backup", pageText(page))}`;

/**
 * A position in an export: the backup's ID, the number of the page, the table, the key of the previous page's last row,
 * and the time of the first page in milliseconds since 1970.
 */
const cursorSchema = z.tuple([
  z.string().check(z.regex(/^[\w-]{1,64}$/)),
  z.int().check(z.minimum(2)),
  z.enum(BACKUP_TABLES),
  z.nullable(z.array(z.union([z.string(), z.number()])).check(z.minLength(1), z.maxLength(3))),
  z.number(),
]);

serve(backupRoutes, "GET /v1/imports", async (c) =>
  c.json((await registry(c.env).importState()) satisfies ImportState),
);

/** Imports a page. Safe to repeat: a page that is stored already changes nothing. */
serve(
  backupRoutes,
  "POST /v1/imports",
  async (c, { body }) => {
    const fault = await faultOf(c, body);
    if (fault !== null) return refuse("conflict", { detail: fault });
    const taken = await registry(c.env).importPage(body, c.var.operator.who);
    return taken.ok ? c.json(taken.value satisfies ImportState) : refuse("conflict", { detail: taken.error });
  },
  { before: refuseUnconfigured },
);

serve(backupRoutes, "DELETE /v1/imports", async (c) => {
  const abandoned = await registry(c.env).abandonImport(c.var.operator.who);
  return done(c, abandoned.ok);
});

/** Returns why this deployment does not accept the page, with a remedy; null if the page is accepted. */
async function faultOf(c: Context<App>, page: BackupPage): Promise<string | null> {
  const keys = macKeysOf(c);
  const [id = "", mac = ""] = page.mac.split(".");
  const key = keys.find((each) => each.id === id);
  if (!key) return KEY_MISSING(id);
  if (!(await isMacOf(key, "backup", { text: pageText(page), mac })))
    return `page ${page.page} was changed since it was exported, or the key ${id} of KID_MAC_KEYS is another one here`;
  if (page.deployment !== c.env.DEPLOYMENT)
    return `the backup is of the deployment ${page.deployment}, which its Nodes are labelled with: set DEPLOYMENT to that`;
  if (page.table !== "deployment") return null;
  for (const [what, name, check] of page.rows) {
    const own = keys.find((each) => each.id === name);
    if (what === "mac-key" && (!own || (await checkOf(own)) !== check)) return KEY_MISSING(String(name));
  }
  return null;
}

const KEY_MISSING = (id: string) =>
  `the key ${id} of the backup's KID_MAC_KEYS is not configured here, so its machines would be unknown: add it to KID_MAC_KEYS`;
