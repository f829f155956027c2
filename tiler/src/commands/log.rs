//! The log of commands that run as services: text, or one JSON object per line. Every line of a job has the content's
//! `id` and the `attempt` as top-level fields, because they are fields of the job's span. The Worker's lines have them
//! too, so one id finds everything from the request to the last tile.

use std::fmt;

use clap::ValueEnum;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::{JsonFields, Writer};
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

#[derive(Clone, Copy, ValueEnum)]
pub enum LogFormat {
    /// Text
    Text,
    /// One JSON object per line
    Json,
}

/// Starts logging to standard error.
pub fn start(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // Otherwise a failed write is reported to standard error too, and panics if that has no reader any more.
    let log = log.log_internal_errors(false);
    match format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.fmt_fields(JsonFields::new()).event_format(JsonLine).init(),
    }
}

/// Formats an event as one flat JSON object, with the fields of its spans and its own.
struct JsonLine;

impl<S, N> FormatEvent<S, N> for JsonLine
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = Fields(Map::new());
        let mut time = String::new();
        SystemTime.format_time(&mut Writer::new(&mut time))?;
        line.0.insert("timestamp".to_owned(), time.into());
        line.0.insert("level".to_owned(), event.metadata().level().as_str().into());
        for span in context.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
            let extensions = span.extensions();
            let fields = extensions.get::<FormattedFields<N>>().map_or("", |fields| fields.as_str());
            line.0.extend(serde_json::from_str::<Map<String, Value>>(fields).unwrap_or_default());
        }
        event.record(&mut line);
        line.0.insert("target".to_owned(), event.metadata().target().into());
        writeln!(writer, "{}", Value::Object(line.0))
    }
}

struct Fields(Map<String, Value>);

impl Fields {
    fn insert(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.insert(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.insert(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.insert(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.insert(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.insert(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.insert(field, value);
    }
}
