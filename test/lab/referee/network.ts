// Plays the network between one machine and the Worker.
import type { Path } from "./machine.ts";
import type { Time } from "./objects.ts";
import { type ClientSocket, NOWHERE } from "./web-sockets.ts";

/** A fault of a machine's network. */
export type PathFault =
  /** Nothing arrives. A cut longer than SURVIVES_MS makes a socket half-open. */
  | { kind: "cut" }
  /** Nothing arrives from the machine. The Worker's frames arrive. */
  | { kind: "one way" }
  | { kind: "slow"; ms: number }
  /** A proxy answers requests in the Worker's place. `isHttpOnly`: frames on open sockets still pass. */
  | { kind: "proxy"; status: number; isHttpOnly: boolean }
  /** A share of the requests and upgrades fails with a reset. */
  | { kind: "resets"; share: number }
  /** A proxy lets no WebSocket pass. */
  | { kind: "no upgrades" };

/** The time of a message from one end to the other without a fault. */
const TAKES_MS = 5;
/** The longest cut that a connection survives, because TCP repeats lost segments. */
const SURVIVES_MS = 20_000;
/** The time between two attempts of TCP to send a segment. */
const AGAIN_MS = 3000;

export class Network implements Path {
  readonly faults = new Set<PathFault>();
  readonly #time: Time;
  readonly #random: () => number;
  readonly #deliver: (request: Request) => Promise<Response>;
  /** The machine's sockets, for `halfOpen`. */
  readonly #sockets = new Set<ClientSocket>();

  constructor(
    time: Time,
    random: () => number,
    deliver: (request: Request) => Promise<Response>, // typically the Worker's fetch
  ) {
    this.#time = time;
    this.#random = random;
    this.#deliver = deliver;
  }

  #has<K extends PathFault["kind"]>(kind: K): Extract<PathFault, { kind: K }> | undefined {
    return [...this.faults].find((fault): fault is Extract<PathFault, { kind: K }> => fault.kind === kind);
  }

  #takesMs(): number {
    return this.#has("slow")?.ms ?? TAKES_MS;
  }

  async send(request: Request): Promise<Response> {
    const resets = this.#has("resets");
    if (resets && this.#random() < resets.share) throw new Error("connection reset");
    await this.#time.pause(this.#takesMs());
    if (this.#has("cut") ?? this.#has("one way")) return new Promise(() => undefined);
    const proxy = this.#has("proxy");
    if (proxy) return new Response("<html>a proxy's page</html>", { status: proxy.status });
    if (this.#has("no upgrades") && request.headers.has("upgrade"))
      return new Response("no upgrades", { status: 400 });
    const response = await this.#deliver(request);
    await this.#time.pause(this.#takesMs());
    return this.#has("cut") ? new Promise(() => undefined) : response;
  }

  carry(socket: ClientSocket): void {
    this.#sockets.add(socket);
    let isLost = false;
    const carry = (isToServer: boolean) => {
      /** Frames arrive in order. */
      let readyMs = 0;
      return (arrive: () => void) => {
        const sentMs = this.#time.nowMs();
        readyMs = Math.max(readyMs, sentMs + this.#takesMs());
        const attempt = () => {
          if (isLost) return;
          const isCut = this.#has("cut") ?? (isToServer ? this.#has("one way") : undefined);
          const proxy = this.#has("proxy");
          if (!isCut && !(proxy && !proxy.isHttpOnly)) return arrive();
          if (this.#time.nowMs() - sentMs > SURVIVES_MS) isLost = true;
          else this.#time.after(AGAIN_MS, attempt);
        };
        this.#time.after(readyMs - sentMs, attempt);
      };
    };
    socket.wire = { toServer: carry(true), toClient: carry(false) };
  }

  /** Makes all open sockets half-open: frames are lost, and neither end is closed. */
  halfOpen(): void {
    for (const socket of this.#sockets) socket.wire = NOWHERE;
    this.#sockets.clear();
  }
}
