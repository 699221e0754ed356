// Reads a cluster: one GET, or all pages of a list. The ways to an apiserver stand in kubectl-reader.ts and admin-reader.ts.
import type { V1Node } from "@kubernetes/client-node";
import { failure, type Result, success } from "../../shared/result.ts";

/** `unreachable`: no apiserver answered; `usage`: the kubeconfig or its context is wrong. */
type ReadReason =
  | "forbidden"
  | "unauthorized"
  | "absent"
  | "expired"
  | "refused"
  | "unreachable"
  | "usage"
  | "not-kubernetes";

export interface ReadFault {
  reason: ReadReason;
  /** The apiserver's own words where it answered; may have several lines. */
  message: string;
}

export interface ClusterReader {
  /** GET of a path with its query, `/api/v1/nodes?limit=500`: the answer's JSON. */
  get: (path: string) => Promise<Result<unknown, ReadFault>>;
  /** Creates the Node with `dryRun=All`: all admission runs, and the apiserver stores nothing. */
  tryNode: (node: V1Node) => Promise<Result<unknown, ReadFault>>;
}

/** Objects of one page. Nodes are the largest, with about 20 kB each. */
const PAGE_SIZE = 500;
/** An apiserver forgets the state of a list after five minutes; a list that expires twice is an error. */
const ATTEMPTS = 2;

interface ListPage {
  items: unknown[];
  metadata?: { continue?: string };
}

/** Reads all pages of a list; `path` has no query. Starts again once where a page has expired. */
export async function listAll(reader: ClusterReader, path: string): Promise<Result<unknown[], ReadFault>> {
  for (let attempt = 1; ; attempt++) {
    const listed = await listOnce(reader, path);
    if (listed.ok || listed.error.reason !== "expired" || attempt === ATTEMPTS) return listed;
  }
}

async function listOnce(reader: ClusterReader, path: string): Promise<Result<unknown[], ReadFault>> {
  const items: unknown[] = [];
  let next = "";
  do {
    const query =
      next === "" ? `limit=${PAGE_SIZE}` : `limit=${PAGE_SIZE}&continue=${encodeURIComponent(next)}`;
    const answer = await reader.get(`${path}?${query}`);
    if (!answer.ok) return answer;
    if (!isListPage(answer.value)) return failure(notKubernetes(`${path}: the answer is no list`));
    items.push(...answer.value.items);
    next = answer.value.metadata?.continue ?? "";
  } while (next !== "");
  return success(items);
}

function isListPage(answer: unknown): answer is ListPage {
  return typeof answer === "object" && answer !== null && Array.isArray((answer as ListPage).items);
}

/** Parses an answer. An error means that something else than an apiserver answered, such as a proxy's page. */
export function parseAnswer(text: string): Result<unknown, ReadFault> {
  try {
    return success(JSON.parse(text) as unknown);
  } catch {
    const start = text.trimStart().slice(0, 60).replaceAll(/\s+/g, " ");
    return failure(notKubernetes(`the answer is no JSON: ${start}`));
  }
}

function notKubernetes(message: string): ReadFault {
  return { reason: "not-kubernetes", message };
}
