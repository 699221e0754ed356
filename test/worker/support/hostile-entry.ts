// Runs the Worker under hostile input. Counts rows, and takes all randomness from a seed, so that a recorded run
// can be repeated exactly.
import { type Environment, gateway, registry } from "../../../worker/env.ts";
import { insertToken } from "../../../worker/registry/tokens.ts";
import measured, {
  RegistryObject as MeasuredRegistryObject,
  GatewayObject as MeasuredGatewayObject,
  NodeObject as MeasuredNodeObject,
} from "./measured.ts";
import {
  type GatewayLook,
  LOOK_PATH,
  MAC_KEYS,
  ORIGIN,
  PLANT_PATH,
  type Planted,
} from "../../lab/hostile/agreed.ts";
import { randomOf } from "../../lab/hostile/random.ts";

export { IndexObject } from "./measured.ts";

/** The random source, which outlives the objects because all run in this one isolate. */
const random = { of: randomOf(0, 0) };
Object.defineProperty(crypto, "getRandomValues", {
  value: (array: Uint8Array) => {
    array.set(random.of.bytes(array.length));
    return array;
  },
});

const known = (env: Environment): Environment => ({ ...env, ORIGINS: ORIGIN, KID_MAC_KEYS: MAC_KEYS });

export class NodeObject extends MeasuredNodeObject {
  constructor(ctx: DurableObjectState, env: Environment) {
    super(ctx, known(env));
  }
}

export class RegistryObject extends MeasuredRegistryObject {
  constructor(ctx: DurableObjectState, env: Environment) {
    super(ctx, known(env));
  }

  plant(token: Planted): void {
    insertToken(this.ctx.storage.sql, { ...token, createdBy: "recording", nowMs: Date.now() });
  }
}

/** The number of messages that the platform delivered to gateways, which outlives the gateways. */
const handed = { messages: 0, late: 0 };

export class GatewayObject extends MeasuredGatewayObject {
  constructor(ctx: DurableObjectState, env: Environment) {
    super(ctx, known(env));
  }

  override webSocketMessage(socket: WebSocket, frame: string | ArrayBuffer): Promise<void> {
    handed.messages++;
    if (socket.readyState !== WebSocket.OPEN) handed.late++;
    return super.webSocketMessage(socket, frame);
  }

  async lookAt(isToRing: boolean): Promise<GatewayLook> {
    if (isToRing) await this.ring();
    const { members } = this.ctx.storage.sql
      .exec<{ members: number }>("SELECT COUNT(*) AS members FROM members")
      .one();
    return { members, sockets: this.ctx.getWebSockets().length, ...handed };
  }
}

// oxlint-disable-next-line import/no-default-export -- a Worker's entry is its module's default export
export default {
  async fetch(request: Request, env: Environment, context: ExecutionContext): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    if (pathname === LOOK_PATH) {
      const looked = gateway(env, 1) as unknown as DurableObjectStub<GatewayObject>;
      return Response.json(await looked.lookAt(search === "?ring"));
    }
    if (pathname !== PLANT_PATH) return measured.fetch(request, known(env), context);
    random.of = randomOf(Number(search.slice(1)), -1);
    const planted = registry(env) as unknown as DurableObjectStub<RegistryObject>;
    await planted.plant(await request.json<Planted>());
    return new Response(null, { status: 204 });
  },
};
