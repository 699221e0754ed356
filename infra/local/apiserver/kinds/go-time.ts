// Times as metav1.Time and MicroTime read and write them. Text in, text out.

const layout = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)$/;

/** The time in UTC without a fraction; undefined for a text that is no time, such as the 30th of February. */
function utcSeconds(dateAndTime: string, zone: string): string | undefined {
  const local = new Date(`${dateAndTime}Z`);
  if (Number.isNaN(local.getTime()) || local.toISOString().slice(0, 19) !== dateAndTime) return undefined;
  const utc = new Date(`${dateAndTime}${zone}`);
  return Number.isNaN(utc.getTime()) ? undefined : utc.toISOString().slice(0, 19);
}

/** metav1.Time: RFC 3339 in, UTC with whole seconds out. */
export function parseTime(value: string): string | undefined {
  const [, dateAndTime = "", , zone = ""] = layout.exec(value) ?? [];
  const utc = utcSeconds(dateAndTime, zone);
  return utc === undefined ? undefined : `${utc}Z`;
}

/** metav1.MicroTime: exactly six digits after the point, in and out. */
export function parseMicroTime(value: string): string | undefined {
  const [, dateAndTime = "", fraction = "", zone = ""] = layout.exec(value) ?? [];
  const utc = fraction.length === 6 ? utcSeconds(dateAndTime, zone) : undefined;
  return utc === undefined ? undefined : `${utc}.${fraction}Z`;
}
