// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

/// A token for tests: no constructor, so that its code can be placed at any address. Anyone may mint.
contract MockToken {
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;
    uint256 public totalSupply;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    function decimals() external pure returns (uint8) {
        return 6;
    }

    function symbol() external pure returns (string memory) {
        return "USDC";
    }

    function mint(address to, uint256 value) external {
        balanceOf[to] += value;
        totalSupply += value;
        emit Transfer(address(0), to, value);
    }

    function approve(address spender, uint256 value) external returns (bool) {
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
        return true;
    }

    function transfer(address to, uint256 value) public returns (bool) {
        balanceOf[msg.sender] -= value;
        balanceOf[to] += value;
        emit Transfer(msg.sender, to, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        allowance[from][msg.sender] -= value;
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
        return true;
    }

    /// Several transfers in one transaction. `noise` approvals come first and move the logs' positions.
    function transferMany(address[] calldata to, uint256 value, uint256 noise) external {
        for (uint256 i = 0; i < noise; i++) emit Approval(msg.sender, address(this), i);
        for (uint256 i = 0; i < to.length; i++) transfer(to[i], value);
    }

    /// Passes coins on: the receiver sees them in no transaction and no log.
    function forward(address payable to) external payable {
        (bool sent,) = to.call{value: msg.value}("");
        require(sent);
    }
}
