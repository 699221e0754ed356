// The Durable Object of the deployment's cluster: keeps the token with which all objects speak to the apiserver, and
// renews it. One object for each deployment, a thin shell around the functions of worker/cluster.
import { DurableObject } from "cloudflare:workers";
import type { Environment } from "../env.ts";
import { kubeConnector } from "../kube/connect.ts";
import { tokenChainId } from "../kube/token-chain-id.ts";
import { migrate } from "../storage/migrations.ts";
import { chainStore } from "./chain-store.ts";
import { CLUSTER_MIGRATIONS } from "./schema.ts";
import { sealer } from "./sealed-text.ts";
import { TokenChain, type TokenStatus } from "./token-chain.ts";

/** The most that infra/rbac allows. */
const TOKEN_SECONDS = 24 * 3600;
/** A machine's object waits for two seconds. */
const WITHIN_MS = 1500;
/** After a fault of the object's own. */
const AGAIN_MS = 5 * 60_000;

interface OwnChain {
  id: string;
  tokens: TokenChain;
}

export class ClusterObject extends DurableObject<Environment> {
  #chain: Promise<OwnChain> | undefined;

  constructor(ctx: DurableObjectState, env: Environment) {
    super(ctx, env);
    migrate(ctx.storage, CLUSTER_MIGRATIONS);
  }

  /**
   * For machines' objects: the newest token that is good; null: this version of the Worker has another secret, apiserver
   * or deployment. `refused`: the token that was answered 401.
   */
  async tokenFor(chain: string, refused?: string): Promise<string | null> {
    const { id, tokens } = await this.#own();
    if (chain !== id) return null;
    const token = await tokens.tokenFor(refused);
    await this.#lookAt(await tokens.nextMs());
    return token;
  }

  /** For operators. */
  async tokenStatus(): Promise<TokenStatus> {
    return (await this.#own()).tokens.status();
  }

  /** Renews the token, and looks again when the next one is due. */
  override async alarm(): Promise<void> {
    let next: number | null = Date.now() + AGAIN_MS;
    try {
      next = await (await this.#own()).tokens.upkeep();
    } catch (error) {
      console.error(JSON.stringify({ message: "alarm of the cluster failed", error: String(error) }));
    }
    await this.#lookAt(next);
  }

  /** Sets the alarm, unless it rings by then: setting it writes a row. */
  async #lookAt(atMs: number | null): Promise<void> {
    if (atMs === null || !this.env.KUBE_URL) return;
    const setMs = await this.ctx.storage.getAlarm();
    if (setMs === null || setMs > atMs) await this.ctx.storage.setAlarm(atMs);
  }

  #own(): Promise<OwnChain> {
    return (this.#chain ??= this.#open());
  }

  async #open(): Promise<OwnChain> {
    const { env, ctx } = this;
    const nowMs = () => Date.now();
    const id = await tokenChainId(env);
    const connect = (token: string) => {
      const alone = { current: () => token, instead: () => Promise.resolve(null) };
      return kubeConnector(env, alone, nowMs)(WITHIN_MS);
    };
    const tokens = new TokenChain({
      secret: env.KUBE_TOKEN,
      deployment: env.DEPLOYMENT,
      seconds: TOKEN_SECONDS,
      store: chainStore(ctx.storage.sql, id, await sealer(env.KUBE_TOKEN, id), nowMs),
      connect,
      nowMs,
      log: (line) => console.log(JSON.stringify(line)),
    });
    return { id, tokens };
  }
}
