package com.openfaas.function;

import com.openfaas.model.AbstractHandler;
import com.openfaas.model.IRequest;
import com.openfaas.model.IResponse;
import com.openfaas.model.Response;
import swtch.function.Reply;

/** OpenFaaS: its template's entry point looks for a class of this name. */
public class Handler extends AbstractHandler {
    @Override
    public IResponse Handle(IRequest request) {
        Reply reply = Reply.to("openfaas", request.getBody(), request.getQueryRaw(), request::getHeader);
        var response = new Response();
        response.setStatusCode(reply.status());
        response.setContentType("application/json");
        response.setBody(reply.json());
        return response;
    }
}
