// Sends hostile frames on machines' sockets to the Worker on workerd, while another machine keeps reporting. Judges
// by the answers, by SQLite's counters, by the requests to the apiserver, and by workerd's memory.
import { atOnce } from "../at-once.ts";
import { type Client, hostileClient } from "../post.ts";
import { fire, messagesOf } from "./fire.ts";
import { type FramePlan, type FrameVerdict, judge, offenceText } from "./frames-verdict.ts";
import { frameGenerator, type HostileShot, type MakeShot } from "./frame-generator.ts";
import { joinMachines, Rounds, type Target } from "./rounds.ts";
import { FrameWorld } from "./world.ts";

const MACHINES = { least: 4, most: 160, framesOfEach: 20 };
/** The number of sockets of each sort that get frames at the same time. */
const LANES = 8;

export async function runFrames(plan: FramePlan, progress: (done: number) => void): Promise<FrameVerdict> {
  const world = await FrameWorld.start();
  const client = hostileClient(world.worker.url);
  try {
    const { least, most, framesOfEach } = MACHINES;
    const count = Math.max(least, Math.min(most, Math.ceil(plan.frames / framesOfEach)));
    const rounds = new Rounds(world, await joinMachines(world, count, plan.seed));
    const make = await frameGenerator(plan.seed);
    return await new FrameAttack({ plan, world, client, rounds, make }).run(progress);
  } finally {
    client.close();
    await world.stop();
  }
}

interface Attacking {
  plan: FramePlan;
  world: FrameWorld;
  client: Client;
  rounds: Rounds;
  make: MakeShot;
}

class FrameAttack {
  readonly #with: Attacking;
  readonly #verdict: FrameVerdict;
  /** The index of the next frame for a socket with an accepted report, and for a socket without one. */
  readonly #next: Record<Target["sort"], number>;

  constructor(attacking: Attacking) {
    const { from } = attacking.plan;
    this.#with = attacking;
    this.#verdict = emptyVerdict(attacking.plan);
    this.#next = { accepted: firstFor("accepted", from), unaccepted: firstFor("unaccepted", from) };
  }

  async run(progress: (done: number) => void): Promise<FrameVerdict> {
    const { world, rounds, plan } = this.#with;
    const verdict = this.#verdict;
    verdict.rowsOfAnEnd = await rounds.rowsOfAnEnd();
    const objectsBefore = world.worker.objects();
    while (this.#isLeft("accepted") || this.#isLeft("unaccepted")) {
      const targets = await rounds.begin();
      await this.#round(targets);
      await rounds.end(targets);
      verdict.residentBytes.push(world.worker.residentBytes());
      progress(Math.min(this.#next.accepted, this.#next.unaccepted) - plan.from);
    }
    return { ...verdict, beats: rounds.beats, objectsMade: world.worker.objects() - objectsBefore };
  }

  #isLeft(sort: Target["sort"]): boolean {
    const { from, frames } = this.#with.plan;
    return this.#next[sort] < from + frames;
  }

  /** Sends the frames of one round. During a round, only hostile frames cause writes and requests. */
  async #round(targets: readonly Target[]): Promise<void> {
    const { world } = this.#with;
    const verdict = this.#verdict;
    const before = { ...this.#next };
    const looked = await world.look();
    await world.measured();
    world.asked();
    await Promise.all(SORTS.map((sort) => this.#attack(sort, targets)));
    const accepted = targets.filter(({ sort }) => sort === "accepted");
    const ended = accepted.filter(({ wire }) => wire.ended !== null).length;
    await world.untilMembers(looked.members - ended);
    const { rowsWritten } = await world.measured();
    const asked = world.asked();
    const rows = rowsWritten - ended * verdict.rowsOfAnEnd;
    const after = await world.look();
    verdict.ended += ended;
    verdict.rows += rows;
    verdict.asked += asked.length;
    verdict.renewals += asked.filter(({ verb, path }) => verb !== "GET" && path.includes("/leases")).length;
    verdict.arrived += after.messages - looked.messages;
    verdict.late += after.late - looked.late;
    if (rows !== 0 || asked.length > 0) {
      const from = Math.min(before.accepted, before.unaccepted);
      const to = Math.max(this.#next.accepted, this.#next.unaccepted);
      verdict.disturbances.push({ from, to, rows, asks: asked.length });
    }
  }

  async #attack(sort: Target["sort"], targets: readonly Target[]): Promise<void> {
    const mine = targets.filter((target) => target.sort === sort);
    const others = targets.map(({ tapped }) => tapped);
    await atOnce(LANES, mine, async (target) => {
      if (this.#isLeft(sort)) this.#verdict.sockets[sort]++;
      while (target.wire.isOpen && this.#isLeft(sort)) {
        const index = this.#next[sort];
        this.#next[sort] += SORTS.length;
        const { tapped, before, enrolment } = target;
        await this.#fire(target, this.#with.make(index, { target: tapped, others, before, enrolment }));
      }
    });
  }

  async #fire({ wire }: Target, { index, kind, shot }: HostileShot): Promise<void> {
    const verdict = this.#verdict;
    if (shot === null) {
      verdict.discarded++;
      return;
    }
    const { client } = this.#with;
    const outcome = await fire(wire, shot, async (attack) => (await client.sendAll([attack]))[0]!);
    const { words, what } = judge(outcome);
    verdict.sent += messagesOf(shot);
    const answers = verdict.kinds.get(kind) ?? new Map<string, number>();
    verdict.kinds.set(kind, answers.set(words, (answers.get(words) ?? 0) + 1));
    if (what) verdict.offences.push({ what, index, text: offenceText(kind, words, shot) });
  }
}

const SORTS = ["accepted", "unaccepted"] as const;

/** Returns the first index of this sort, from `from` on. Indexes alternate between the two sorts of sockets. */
function firstFor(sort: Target["sort"], from: number): number {
  return from % SORTS.length === SORTS.indexOf(sort) ? from : from + 1;
}

const emptyVerdict = (plan: FramePlan): FrameVerdict => ({
  plan,
  sent: 0,
  discarded: 0,
  sockets: { accepted: 0, unaccepted: 0 },
  arrived: 0,
  late: 0,
  kinds: new Map(),
  offences: [],
  disturbances: [],
  rows: 0,
  ended: 0,
  rowsOfAnEnd: 0,
  renewals: 0,
  asked: 0,
  objectsMade: 0,
  beats: 0,
  residentBytes: [],
});
