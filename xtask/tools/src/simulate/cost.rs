//! Usage, and its cost at Cloudflare's prices of November 2026 without the plans' free allowances. docs/scaling.md
//! names the price lists.

/// Usage of a load.
#[derive(Clone, Copy, Debug, Default)]
pub struct Use {
    pub worker_requests: f64,
    pub object_requests: f64,
    /// Milliseconds that Durable Objects were in memory.
    pub object_ms: f64,
    pub rows_written: f64,
    pub queue_operations: f64,
    pub kv_reads: f64,
    pub kv_writes: f64,
    pub bucket_writes: f64,
    /// Megapixels of the stored pyramids.
    pub megapixels: f64,
    pub api_calls: f64,
}

/// Dollars a request.
const WORKER_REQUEST: f64 = 0.30e-6;
/// A request takes less than 0.6 ms of CPU time (docs/benchmarks), at $0.02 a million milliseconds.
const WORKER_CPU: f64 = 0.6 * 0.02e-6;
const OBJECT_REQUEST: f64 = 0.15e-6;
/// A Durable Object is billed for 128 MB, at $12.50 a million GB-s.
const OBJECT_MS: f64 = 0.128 * 12.50e-9;
const ROW_WRITTEN: f64 = 1.0e-6;
const QUEUE_OPERATION: f64 = 0.40e-6;
const KV_READ: f64 = 0.50e-6;
const KV_WRITE: f64 = 5.0e-6;
const BUCKET_WRITE: f64 = 4.50e-6;
/// Rented core, an hour.
const CORE_HOUR: f64 = 0.04;
/// Megabytes a megapixel: 0.28 for libvips' tiles of quality 82 (docs/benchmarks), and 0.82 of that for ours at the
/// default (decision 56).
const MEGABYTES: f64 = 0.23;
const BUCKET_GB_MONTH: f64 = 0.015;
const OBJECT_GB_MONTH: f64 = 0.20;
const KV_GB_MONTH: f64 = 0.50;
/// Nearly empty SQLite database, in GB.
const OBJECT_GB: f64 = 12e-6;
/// Record in KV, in GB.
const RECORD_GB: f64 = 1e-6;
const MINUTES_A_MONTH: f64 = 30.0 * 24.0 * 60.0;
const HOURS_A_MONTH: f64 = 30.0 * 24.0;

/// Cost of a load that lasts a month, in dollars.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Cloudflare's calls.
    pub platform: f64,
    /// The tilers' machines.
    pub tilers: f64,
    /// Cost of a month's pyramids and records in each following month.
    pub storing: f64,
}

impl Use {
    /// Returns the cost of Cloudflare's calls by part.
    pub fn calls(&self) -> [(&'static str, f64); 7] {
        [
            ("Workers", self.worker_requests * (WORKER_REQUEST + WORKER_CPU)),
            ("Durable Objects: requests", self.object_requests * OBJECT_REQUEST + self.object_ms * OBJECT_MS),
            ("Durable Objects: rows written", self.rows_written * ROW_WRITTEN),
            ("Queues", self.queue_operations * QUEUE_OPERATION),
            ("KV: reads", self.kv_reads * KV_READ),
            ("KV: writes", self.kv_writes * KV_WRITE),
            ("R2: writes", self.bucket_writes * BUCKET_WRITE),
        ]
    }

    /// Returns the cost of a month at `rate` conversions a minute, if this is the usage of `conversions`.
    pub fn cost(&self, conversions: f64, rate: f64, cores: f64) -> Cost {
        let calls: f64 = self.calls().iter().map(|(_, dollars)| dollars).sum();
        let month = rate * MINUTES_A_MONTH;
        let stored = self.megapixels / conversions * MEGABYTES / 1000.0 * BUCKET_GB_MONTH;
        Cost {
            platform: calls / conversions * month,
            tilers: cores * CORE_HOUR * HOURS_A_MONTH,
            storing: (stored + OBJECT_GB * OBJECT_GB_MONTH + RECORD_GB * KV_GB_MONTH) * month,
        }
    }
}
