// Plays an operator who works while the machines attack: tokens, approvals, marks on Nodes, and reads. A seed
// determines the acts. Each change is recorded, and has to be in the audit log.
import type { Node } from "../../../../shared/kubernetes/types.ts";
import type { PendingAnswer } from "../../../../shared/protocol/operator-answers.ts";
import type { WorkerConnection } from "../../../../infra/operator/client.ts";
import type { Random } from "../random.ts";
import { type Asker, asker } from "./asker.ts";
import type { Admin } from "./cluster.ts";
import { type Mark, markingPatch, type MarkKind, type Marks } from "./marks.ts";
import type { KubeRequest } from "./traffic.ts";

/** An operator's change, as the audit log has it. */
export interface Done {
  what: string;
  target: string;
}

export interface Operator {
  /** Does the operator's next act, and asks a machine. */
  act: () => Promise<void>;
  done: readonly Done[];
  /** The operator's writes that set marks on Nodes: the time of each write, and the Node's bytes in JSON. */
  marked: readonly Pick<KubeRequest, "atMs" | "keptBytes">[];
  /** Ends the answers of machines, and judges them. */
  asker: Asker;
  /** The answers that a Worker may not give, and the requests without an answer. */
  faults: readonly string[];
}

export interface Operated {
  worker: WorkerConnection;
  admin: Admin;
  marks: Marks;
  random: Random;
  /** Returns the names of the hostile machines' present Nodes. */
  hostile: () => readonly string[];
  /** The names of honest machines and kubelets, which no hostile machine may get. */
  kept: readonly string[];
}

/** The marks whose keys some machines may set as well, so that both a machine and an operator set one key. */
export const COVETED_MARKS = {
  labels: ["ops.example/team", "example.com/l-0", "example.com/l-1"],
  conditions: ["KernelDeadlock", "Example0"],
  resources: ["example.com/dongle", "other.example/card"],
} as const;

export function operator(operated: Operated): Operator {
  const { worker, admin, marks, random, hostile, kept } = operated;
  const done: Done[] = [];
  const marked: Pick<KubeRequest, "atMs" | "keptBytes">[] = [];
  const faults: string[] = [];
  const minted: string[] = [];
  const asking = asker(worker);

  async function ask<Answer>(method: string, path: string, body?: object): Promise<Answer | null> {
    const init = { method, headers: worker.headers, ...(body && { body: JSON.stringify(body) }) };
    try {
      const response = await fetch(worker.url + path, init);
      const text = await response.text();
      if (response.status >= 500) faults.push(`${method} ${path}: HTTP ${response.status} ${text}`);
      return response.ok ? ((text === "" ? {} : JSON.parse(text)) as Answer) : null;
    } catch (error) {
      faults.push(`${method} ${path}: ${String(error)}`);
      return null;
    }
  }

  async function change(record: Done, path: string, body?: object, method = "POST"): Promise<void> {
    if ((await ask(method, path, body)) !== null) done.push(record);
  }

  async function mint(): Promise<void> {
    const wish = { names: `spare-${random.int(1000)}`, uses: 1, expiresInSeconds: 600 };
    const token = await ask<{ id: string }>("POST", "/v1/tokens", wish);
    if (!token) return;
    minted.push(token.id);
    done.push({ what: "token.create", target: token.id });
  }

  async function revokeToken(): Promise<void> {
    const id = minted.shift();
    if (id) await change({ what: "token.revoke", target: id }, `/v1/tokens/${id}`, undefined, "DELETE");
  }

  /**
   * Decides about each applicant: rejects it if its name belongs to an honest machine or a kubelet, and approves it
   * otherwise.
   */
  async function decide(): Promise<void> {
    const { pending = [] } = (await ask<PendingAnswer>("GET", "/v1/pending")) ?? {};
    const [first] = pending;
    if (!first) return;
    const { name, thumbprint } = first;
    const verb = kept.includes(name) ? "reject" : "approve";
    await change({ what: `machine.${verb}`, target: name }, `/v1/nodes/${name}/${verb}`, { thumbprint });
  }

  async function mark(kind: MarkKind, key: string, manager: string): Promise<void> {
    const name = random.pick(hostile());
    const path = `/api/v1/nodes/${name}`;
    const found = await admin("GET", path);
    if (found.status !== 200) return;
    const wish: Mark = { name, kind, key, value: kind === "resource" ? "7" : `set-${random.int(1000)}` };
    const { subresource, patch } = markingPatch(wish, found.body as Node);
    marks.expect(wish);
    const answer = await admin("PATCH", `${path}${subresource}?fieldManager=${manager}`, patch);
    if (answer.status !== 200) return;
    marks.placed(wish, answer.body as Node);
    marked.push({ atMs: performance.now(), keptBytes: JSON.stringify(answer.body).length });
  }

  /** Asks a machine that still acts: further names report only for seconds. */
  async function askMachine(): Promise<void> {
    const acting = hostile().filter((name) => !/-[nc][^-]/.test(name));
    if (acting.length === 0) return;
    const target = random.pick(acting);
    if (await asking.ask(target)) done.push({ what: "machine.ask", target });
  }

  const about = (what: string, verb: string) => async () => {
    const target = random.pick(hostile());
    await change({ what, target }, `/v1/nodes/${target}/${verb}`);
  };
  const look = (path: (name: string) => string) => async () => {
    await ask("GET", path(random.pick(hostile())));
  };
  const acts: readonly (() => Promise<void>)[] = [
    mint,
    revokeToken,
    decide,
    decide,
    about("node.register", "register"),
    about("node.believe", "believe"),
    about("node.believe", "believe"),
    () => mark("label", random.pick(COVETED_MARKS.labels), "kubectl-label"),
    () => mark("label", random.pick(COVETED_MARKS.labels), "kubectl-label"),
    () => mark("annotation", "ops.example/note", "kubectl-annotate"),
    () => mark("taint", random.pick(["ops.example/hold", "example.com/t"]), "kubectl-taint"),
    () => mark("cordon", "", "kubectl-cordon"),
    () => mark("condition", random.pick(COVETED_MARKS.conditions), "node-problem-detector"),
    () => mark("resource", random.pick(COVETED_MARKS.resources), "dongle-agent"),
    look((name) => `/v1/nodes/${name}/history?limit=1000`),
    look((name) => `/v1/nodes/${name}/clones`),
    look(() => "/v1/tokens"),
    look(() => "/v1/audit?by=machines"),
    look(() => "/v1/origins"),
  ];
  return {
    act: async () => {
      await askMachine();
      // The operator seldom revokes a key, because each revocation makes the machine start again.
      if (random.chance(0.03)) await about("machine.revoke", "revoke")();
      else await random.pick(acts)();
    },
    done,
    asker: asking,
    marked,
    faults,
  };
}

interface AuditEntry extends Done {
  id: number;
}

/** Returns the operator's changes that the audit log lacks. */
export async function missingFromAudit(worker: WorkerConnection, done: readonly Done[]): Promise<string[]> {
  const found = new Map<string, number>();
  for (let before = ""; ;) {
    const response = await fetch(`${worker.url}/v1/audit?limit=1000${before}`, { headers: worker.headers });
    const { entries } = (await response.json()) as { entries: AuditEntry[] };
    for (const { what, target } of entries) {
      const act = `${what} ${target}`;
      found.set(act, (found.get(act) ?? 0) + 1);
    }
    const last = entries.at(-1);
    if (!last) break;
    before = `&before=${last.id}`;
  }
  return missing(done, found);
}

/** Returns the changes that the audit log lacks. `found` has the number of each change in the log. */
export function missing(done: readonly Done[], found: ReadonlyMap<string, number>): string[] {
  const left = new Map(found);
  return done.flatMap(({ what, target }) => {
    const act = `${what} ${target}`;
    const times = left.get(act) ?? 0;
    left.set(act, times - 1);
    return times > 0 ? [] : [act];
  });
}
