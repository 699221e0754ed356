// The operators' routes of notifications: receivers, their deliveries, and mutes.
import { Hono } from "hono";
import {
  newMuteSchema,
  newReceiverSchema,
  receiverChangeSchema,
} from "../../shared/protocol/receiver-api.ts";
import type {
  ChangedReceiver,
  LettersAnswer,
  ListedMute,
  MutesAnswer,
  ReceiversAnswer,
  ReceiverTest,
} from "../../shared/protocol/receiver-answers.ts";
import { fleetIndex } from "../env.ts";
import { operator } from "./operator-access.ts";
import { noQuery } from "./queries.ts";
import { type App, invalidBody, json, refuse } from "./responses.ts";

export const receiverRoutes = new Hono<App>();

receiverRoutes.get("/v1/receivers", operator, noQuery, async (c) =>
  c.json({ receivers: await fleetIndex(c.env).receivers() } satisfies ReceiversAnswer),
);

receiverRoutes.post("/v1/receivers", operator, noQuery, async (c) => {
  const body = newReceiverSchema.safeParse(await json(c.req.raw));
  if (!body.success) return invalidBody(body.error);
  const { name, ...settings } = body.data;
  const wish = { ...settings, newSecret: true };
  const made = await fleetIndex(c.env).putReceiver(name, wish, true, c.var.operator.who);
  return made.ok ? c.json(made.value satisfies ChangedReceiver, 201) : wrongField(made.error);
});

receiverRoutes.put("/v1/receivers/:receiver", operator, noQuery, async (c) => {
  const body = receiverChangeSchema.safeParse(await json(c.req.raw));
  if (!body.success) return invalidBody(body.error);
  const changed = await fleetIndex(c.env).putReceiver(
    c.req.param("receiver"),
    body.data,
    false,
    c.var.operator.who,
  );
  return changed.ok ? c.json(changed.value satisfies ChangedReceiver) : wrongField(changed.error);
});

receiverRoutes.delete("/v1/receivers/:receiver", operator, noQuery, async (c) =>
  (await fleetIndex(c.env).removeReceiver(c.req.param("receiver"), c.var.operator.who))
    ? c.body(null, 204)
    : refuse("not-found"),
);

receiverRoutes.post("/v1/receivers/:receiver/test", operator, noQuery, async (c) => {
  const outcome = await fleetIndex(c.env).testReceiver(c.req.param("receiver"), c.var.operator.who);
  return outcome ? c.json(outcome satisfies ReceiverTest) : refuse("not-found");
});

receiverRoutes.get("/v1/receivers/:receiver/letters", operator, noQuery, async (c) => {
  const letters = await fleetIndex(c.env).letters(c.req.param("receiver"));
  return letters ? c.json({ letters } satisfies LettersAnswer) : refuse("not-found");
});

receiverRoutes.post("/v1/receivers/:receiver/letters/:id/resend", operator, noQuery, async (c) => {
  const { receiver, id } = c.req.param();
  const isFound = await fleetIndex(c.env).resendLetter(receiver, Number(id), c.var.operator.who);
  return isFound ? c.body(null, 204) : refuse("not-found");
});

receiverRoutes.get("/v1/mutes", operator, noQuery, async (c) =>
  c.json({ mutes: await fleetIndex(c.env).mutes() } satisfies MutesAnswer),
);

receiverRoutes.post("/v1/mutes", operator, noQuery, async (c) => {
  const body = newMuteSchema.safeParse(await json(c.req.raw));
  if (!body.success) return invalidBody(body.error);
  const made = await fleetIndex(c.env).mute(body.data, c.var.operator.who);
  return made.ok ? c.json(made.value satisfies ListedMute, 201) : wrongField(made.error);
});

receiverRoutes.delete("/v1/mutes/:id", operator, noQuery, async (c) =>
  (await fleetIndex(c.env).unmute(Number(c.req.param("id")), c.var.operator.who))
    ? c.body(null, 204)
    : refuse("not-found"),
);

/** null: there is nothing of this name. */
function wrongField(fault: { path: string; message: string } | null): Response {
  if (fault === null) return refuse("not-found");
  return refuse("invalid-body", { detail: fault.message, pointer: fault.path });
}
