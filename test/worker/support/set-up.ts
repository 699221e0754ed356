// Prepares each file and each test in workerd. Files share a workerd, so each gets objects and an apiserver of its
// own, by name. Before each test the clock stops, in a year that no object's alarm reaches by itself.
import { env } from "cloudflare:workers";
import { afterAll, afterEach, beforeEach } from "vitest";
import { stopClock } from "./clock.ts";
import { FILE_HEADER } from "./constants.ts";

const START_MS = Date.UTC(2100, 0, 1);
stopClock(START_MS);
beforeEach(() => stopClock(START_MS));

const file = crypto.randomUUID();

/** Gives this file names of its own in the namespace. */
function keepApart(namespace: DurableObjectNamespace): void {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the prototype as workerd made it, which no file has changed
  const made = Object.getPrototypeOf(namespace) as DurableObjectNamespace;
  Object.assign(namespace, {
    getByName: (name: string) => made.getByName.call(namespace, `${file} ${name}`),
    idFromName: (name: string) => made.idFromName.call(namespace, `${file} ${name}`),
  });
}
for (const each of [env.CLUSTER, env.GATEWAYS, env.INDEX, env.NODES, env.REGISTRY]) keepApart(each);

/** The key under which the first file stores the original binding. */
const REAL = Symbol.for("rollcall.real-kube");
const shared = globalThis as { [REAL]?: Fetcher };
const kube = (shared[REAL] ??= (env as unknown as { KUBE: Fetcher }).KUBE);
Object.assign(env, {
  KUBE: {
    fetch(...asked: ConstructorParameters<typeof Request>) {
      const request = new Request(...asked);
      request.headers.set(FILE_HEADER, file);
      return kube.fetch(request as Request<unknown, CfProperties>);
    },
  },
});

/**
 * The functions that end each test in the runner's own object. workerd continues in the object that resolved a promise.
 * If that object belongs to the Worker and aborts later, vitest's last message is lost, and the run never ends.
 */
const waiting: (() => void)[] = [];
const runnersTimer = setInterval(() => {
  for (const goOn of waiting.splice(0)) goOn();
}, 1);
const backToRunner = () => new Promise<void>((goOn) => void waiting.push(goOn));
afterEach(backToRunner);
afterAll(async () => {
  await backToRunner();
  clearInterval(runnersTimer);
});
