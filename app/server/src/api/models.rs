//! Models that a tenant's sessions may name.

use serde::Serialize;
use utoipa::ToSchema;

use super::session_access::{AuthorizedCaller, ReadRight};
use crate::json::Json;
use crate::problem::Problem;
use crate::tenant::OfferedModel;

/// Models that a session may name.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({
    "default": "demo", "models": [{"name": "demo", "window": 128_000, "efforts": [], "images": false}],
    "fault": null,
}))]
pub(crate) struct Models {
    /// Model of a session that names none.
    #[schema(required)]
    default: Option<String>,
    /// The models, the default first.
    models: Vec<Model>,
    /// Reason why models of the provider are missing; null if none is.
    #[schema(required)]
    fault: Option<String>,
}

/// Model that a session may name.
#[derive(Serialize, ToSchema)]
struct Model {
    /// Name of the model.
    name: String,
    /// Tokens of its window; null if it is unknown.
    #[schema(required)]
    window: Option<u64>,
    /// Efforts that it certainly takes; null if it is unknown. Its provider may have more.
    #[schema(required)]
    efforts: Option<Vec<String>>,
    /// True if it reads images; null if it is unknown.
    #[schema(required)]
    images: Option<bool>,
}

impl From<OfferedModel> for Model {
    fn from(OfferedModel { name, window, efforts, images }: OfferedModel) -> Self {
        Self { name, window, efforts, images }
    }
}

/// Lists the models that the tenant's sessions may name. A server of one person asks its provider.
#[utoipa::path(
    get,
    path = "/models",
    tag = "sessions",
    responses((status = 200, description = "The models.", body = Models))
)]
pub(crate) async fn list(
    AuthorizedCaller { caller, .. }: AuthorizedCaller<ReadRight>,
) -> Result<Json<Models>, Problem> {
    let listed = caller.tenant.factory.list_models().await;
    let default = listed.models.first().map(|model| model.name.clone());
    let models = listed.models.into_iter().map(Model::from).collect();
    Ok(Json(Models { default, models, fault: listed.fault }))
}
