// What stands in for an object whose state is of a later version of the Worker: it refuses every call, writes nothing of its
// own, and keeps the alarm, so that the later version goes on where it stopped.
import { DurableObject } from "cloudflare:workers";
import type { Environment } from "../env.ts";
import { NewerStateError } from "./migrations.ts";
import { StoredObject } from "./stored-object.ts";
import { currentMs } from "../clock.ts";

/** An alarm that fails is dropped after some tries; this one rings again, as late as a machine's silence may be noticed. */
const AGAIN_MS = 60_000;
/** RFC 6455's 1012, Service Restart: machines report by HTTP then, and pages ask again. */
const RESTART = 1012;

type ObjectClass = new (ctx: DurableObjectState, env: Environment) => StoredObject;

/** The same class: where its constructor throws a NewerStateError, something else stands in. */
export function refusingNewer<Class extends ObjectClass>(of: Class): Class {
  return new Proxy(of, {
    construct(target, args: ConstructorParameters<ObjectClass>, newTarget) {
      try {
        return Reflect.construct(target, args, newTarget) as InstanceType<Class>;
      } catch (error) {
        if (error instanceof NewerStateError) return standIn(of, args[0].storage, error);
        throw error;
      }
    },
  });
}

function standIn(of: ObjectClass, storage: DurableObjectStorage, error: NewerStateError): object {
  const methods: Record<string, unknown> = {};
  const refuse = () => {
    throw error;
  };
  for (const { prototype } of [StoredObject, of])
    for (const name of Object.getOwnPropertyNames(prototype)) methods[name] = refuse;
  Object.assign(methods, {
    alarm: () => storage.setAlarm(currentMs() + AGAIN_MS),
    webSocketMessage: (socket: WebSocket) => socket.close(RESTART),
    webSocketClose: () => undefined,
    webSocketError: () => undefined,
  });
  // Callers reach what a prototype has, and nothing that an object has of its own.
  return Object.create(Object.setPrototypeOf(methods, DurableObject.prototype) as object) as object;
}
