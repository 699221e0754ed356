// Replaces the module `cloudflare:workers` of workerd.
export { DurableObject } from "./objects.ts";
