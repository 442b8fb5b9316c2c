const SECRET = /\b(sk|slw|pk|ghp|xox[abp])[-_][A-Za-z0-9_-]{8,}/g;

/** Text without what looks like a key. */
export function maskForLog(text: string): string {
  return text.replace(SECRET, "[secret]");
}
