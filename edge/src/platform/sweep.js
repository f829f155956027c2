// Deletes what attempts have left in R2. In JavaScript, as lists of keys would cross from it into wasm and back.

/** How many lists of objects are asked for in all, of up to 1,000 each: a call of a Worker may make a thousand requests. */
const MOST_LISTS = 100;

/**
 * Deletes the objects of a content's attempts before the one with the number `before`, except for the one to `keep`, and the file
 * that a client has sent. Gives whether that is all: the next sweep goes on.
 */
export async function sweep(bucket, id, before, keep, upload) {
  if (upload) await bucket.delete(upload);
  const isOver = (key) => {
    const attempt = parseInt(key.slice(id.length + 1), 10);
    return attempt < Number(before) && attempt !== Number(keep);
  };
  // Beside a pyramid, attempt by attempt: else all its tiles would be listed.
  const folders = [{ prefix: `${id}/`, delimiter: keep ? "/" : undefined }];
  for (let lists = 0; folders.length > 0 && lists < MOST_LISTS; lists += 1) {
    const folder = folders.pop();
    const { objects, delimitedPrefixes, truncated, cursor } = await bucket.list(folder);
    const keys = objects.map(({ key }) => key).filter(isOver);
    if (keys.length > 0) await bucket.delete(keys);
    folders.push(...delimitedPrefixes.filter(isOver).map((prefix) => ({ prefix })));
    if (truncated) folders.push({ ...folder, cursor });
  }
  return folders.length === 0;
}
