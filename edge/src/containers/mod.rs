//! Tilers in Cloudflare's containers. [`fleet`] decides how many run. `object.js` is the Durable Object of each, which
//! starts, watches and stops it; `gate.js` is all that a container can reach of the service: the queue
//! (`edge/queue/`), the calls of tilers, and the bucket (`bucket.js`), of which it may use what [`claims`] admits.

pub mod claims;
pub mod fleet;
