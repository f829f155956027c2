//! `/v1/uploads/…`: a client sends a file in parts, because it is too large for one request, or the connection may break.

use http::StatusCode;
use worker::{Env, Result, web_sys};

use super::upload;
use crate::admission;
use crate::admission::client::Client;
use crate::config::{Addresses, Config, Uploads};
use crate::content::repository::Repository;
use crate::content::response::ContentResponse;
use crate::platform::clock::now;
use crate::platform::upload_parts;
use crate::request::upload_parts::{FOLDER, PART_BYTES, UploadStep};
use crate::response::element::Element::{Count, Object, Text};
use crate::response::{ApiError, CachePolicy, Response, UploadError};

/// What a list of the parts' tags may have: 10,000 of them, of 32 characters.
const LIST_BYTES: u64 = 1 << 20;

/// The response to a step.
pub async fn handle(
    step: &UploadStep,
    uploads: &Uploads,
    client: Option<&Client>,
    request: &web_sys::Request,
    (config, addresses): (&Config, &Addresses),
    repository: &Repository<'_>,
    env: &Env,
) -> Result<Response> {
    let header = |name| request.headers().get(name).ok().flatten();
    if !uploads.admit(header("Origin").as_deref(), addresses) {
        return Ok(refused(UploadError::ForeignOrigin));
    }
    let length = header("Content-Length").and_then(|length| length.trim().parse::<u64>().ok());
    Ok(match step {
        UploadStep::Begin => match admission::check::admit_client(client, config, env).await {
            Ok(()) => begin(uploads, addresses, env).await?,
            Err(error) => ApiError::from(error).response(),
        },
        UploadStep::Part(file, number) => {
            // R2 takes only bodies of known length. The runtime sees to it that no more comes.
            match length {
                None => refused(UploadError::NoLength),
                Some(length) if length > PART_BYTES => refused(UploadError::TooLarge(PART_BYTES)),
                Some(_) if u64::from(*number) > uploads.most_bytes.div_ceil(PART_BYTES) => {
                    refused(UploadError::TooLarge(uploads.most_bytes))
                }
                Some(_) => match upload_parts::put(request, file, *number, env).await? {
                    Ok(tag) => {
                        let part = vec![("part", Count((*number).into())), ("etag", Text(tag))];
                        json(StatusCode::OK, Object(part).json())
                    }
                    Err(error) => refused(error),
                },
            }
        }
        UploadStep::Finish { file, name, variant } => {
            let content = match (name, length) {
                (Err(error), _) => ContentResponse::Failed(error.clone()),
                (_, None) => ContentResponse::Failed(UploadError::NoLength.into()),
                (_, Some(length)) if length > LIST_BYTES => {
                    ContentResponse::Failed(UploadError::MalformedParts.into())
                }
                (Ok(name), Some(_)) => {
                    match upload_parts::finish(request, file, uploads.most_bytes, env).await? {
                        Ok(received) => upload::content(received, name.as_deref(), repository, env).await,
                        Err(error) => ContentResponse::Failed(error.into()),
                    }
                }
            };
            content.write(variant, addresses, now()).uncached()
        }
    })
}

async fn begin(uploads: &Uploads, addresses: &Addresses, env: &Env) -> Result<Response> {
    let file = upload_parts::begin(env).await?;
    let address = format!("{}{FOLDER}/{file}", addresses.base);
    let begun = vec![
        ("address", Text(address.clone())),
        ("partBytes", Count(PART_BYTES)),
        ("mostBytes", Count(uploads.most_bytes)),
    ];
    Ok(json(StatusCode::CREATED, Object(begun).json()).with("Location", address))
}

fn refused(error: UploadError) -> Response {
    ApiError::from(error).response()
}

fn json(status: StatusCode, body: String) -> Response {
    Response::new(status, "application/json; charset=utf-8", CachePolicy::NoStore, body)
}
