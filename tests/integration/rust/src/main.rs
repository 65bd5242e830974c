//! The official Rust SDK at either end of stdgate.
//!
//! `acp-proof agent` is an agent on stdin and stdout, which asks for permission in each prompt.
//! `acp-proof URL` is a client over a WebSocket (ws://) or Streamable HTTP (http://). It sends one
//! prompt, grants every permission, and prints the messages that it gets, a line each.

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, CancelNotification, ContentBlock, ContentChunk, InitializeRequest,
    InitializeResponse, NewSessionRequest, NewSessionResponse, PermissionOption,
    PermissionOptionKind, PromptRequest, PromptResponse, RequestPermissionOutcome,
    RequestPermissionRequest, RequestPermissionResponse, SelectedPermissionOutcome,
    SessionNotification, SessionUpdate, StopReason, TextContent, ToolCallUpdate,
    ToolCallUpdateFields,
};
use agent_client_protocol::{Agent, Client, Result, Stdio};
use agent_client_protocol_http::HttpClient;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    match std::env::args().nth(1) {
        Some(word) if word == "agent" => serve().await,
        Some(url) => prompt_once(&url).await,
        None => panic!("usage: acp-proof agent | acp-proof URL"),
    }
}

async fn serve() -> Result<()> {
    Agent
        .v1()
        .name("rust-agent")
        .on_receive_request(
            async move |initialize: InitializeRequest, responder, _client| {
                responder.respond(
                    InitializeResponse::new(initialize.protocol_version)
                        .agent_capabilities(AgentCapabilities::new()),
                )
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |_: NewSessionRequest, responder, _client| {
                responder.respond(NewSessionResponse::new("rust-session"))
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |prompt: PromptRequest, responder, client: ConnectionTo<Client>| {
                let session = prompt.session_id.clone();
                let asker = client.clone();
                client.spawn(async move {
                    let answer = asker
                        .send_request(RequestPermissionRequest::new(
                            session.clone(),
                            ToolCallUpdate::new("call-1", ToolCallUpdateFields::new()),
                            vec![PermissionOption::new(
                                "yes",
                                "Allow",
                                PermissionOptionKind::AllowOnce,
                            )],
                        ))
                        .block_task()
                        .await?;
                    let text = match answer.outcome {
                        RequestPermissionOutcome::Selected(chosen) => chosen.option_id.to_string(),
                        _ => "nothing".to_string(),
                    };
                    asker.send_notification(SessionNotification::new(
                        session,
                        SessionUpdate::AgentMessageChunk(ContentChunk::new(ContentBlock::Text(
                            TextContent::new(format!("chosen: {text}")),
                        ))),
                    ))?;
                    responder.respond(PromptResponse::new(StopReason::EndTurn))
                })
            },
            agent_client_protocol::on_receive_request!(),
        )
        .connect_to(Stdio::new())
        .await
}

async fn prompt_once(url: &str) -> Result<()> {
    let gate = HttpClient::new(url).expect("a URL");
    Client
        .v1()
        .on_receive_notification(
            async move |notification: SessionNotification, _agent| {
                if let SessionUpdate::AgentMessageChunk(chunk) = notification.update
                    && let ContentBlock::Text(text) = chunk.content
                {
                    println!("heard {}", text.text);
                }
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: RequestPermissionRequest, responder, _agent| {
                println!("asked {}", request.options.len());
                let option = request.options[0].option_id.clone();
                responder.respond(RequestPermissionResponse::new(
                    RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option)),
                ))
            },
            agent_client_protocol::on_receive_request!(),
        )
        .connect_with(gate, |agent: ConnectionTo<Agent>| async move {
            agent.send_request(InitializeRequest::new(ProtocolVersion::V1)).block_task().await?;
            let session =
                agent.send_request(NewSessionRequest::new("/")).block_task().await?.session_id;
            let text = std::env::args().nth(2).unwrap_or("ask say:2".to_string());
            let content = vec![ContentBlock::Text(TextContent::new(text))];
            let prompt = agent.send_request(PromptRequest::new(session.clone(), content));
            if std::env::args().nth(3).is_some() {
                agent.send_notification(CancelNotification::new(session))?;
            }
            println!("stopped {:?}", prompt.block_task().await?.stop_reason);
            Ok(())
        })
        .await
}
